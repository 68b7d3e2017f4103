// The sample app: one module, one screen, coroutines for Qnnrt.kt. Everything that builds it is named by version here
// and in gradle/wrapper, Gradle itself by its hash, too: JDK 17, and platform 36, CMake and NDK of the SDK.
import java.util.Properties

plugins {
    // This plugin compiles Kotlin without a plugin for Kotlin.
    id("com.android.application") version "9.0.1"
}

// `gradle wrapper` writes gradlew, and keeps version and hash.
val pinned = Properties().apply { file("gradle/wrapper/gradle-wrapper.properties").inputStream().use { load(it) } }
tasks.wrapper {
    distributionUrl = pinned.getProperty("distributionUrl")
    distributionSha256Sum = pinned.getProperty("distributionSha256Sum")
}

// The key of a release comes from the environment; without it the package is not signed.
val keystore: String? = System.getenv("QNNRT_KEYSTORE")

android {
    namespace = "qnnrt.sample"
    compileSdk = 36
    ndkVersion = "27.2.12479018"

    defaultConfig {
        applicationId = "qnnrt.sample"
        minSdk = 24
        targetSdk = 36
        versionCode = 1
        versionName = "1.0"
        testInstrumentationRunner = "qnnrt.sample.RefTest"
        ndk {
            // A phone; and the emulator of a desk, where libQnnRef.so is the only backend. No 32 bits: no library has them.
            abiFilters += listOf("arm64-v8a", "x86_64")
        }
        externalNativeBuild {
            cmake {
                targets("qnnrt_jni", "QnnRef")
                // Always optimized, so that times mean something in every build of the app.
                arguments("-DCMAKE_BUILD_TYPE=Release")
            }
        }
    }

    signingConfigs {
        if (keystore != null) {
            create("release") {
                storeFile = file(keystore)
                storePassword = System.getenv("QNNRT_KEYSTORE_PASSWORD")
                keyAlias = System.getenv("QNNRT_KEY_ALIAS")
                keyPassword = System.getenv("QNNRT_KEY_PASSWORD")
            }
        }
    }

    buildTypes {
        release {
            isMinifyEnabled = true
            isShrinkResources = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"), "../consumer-rules.pro")
            signingConfig = signingConfigs.findByName("release")
        }
    }

    // The test for an emulator: `make llm` writes the model that becomes its assets.
    sourceSets.getByName("androidTest") {
        java.srcDir("../../../tests/jni/device")
        assets.srcDir("../../../build/llm-run/ref")
    }

    buildFeatures {
        aidl = true
    }

    externalNativeBuild {
        cmake {
            path = file("src/main/cpp/CMakeLists.txt")
            version = "3.22.1"
        }
    }

    androidResources {
        // Context binaries among the assets are opened where they lie in the package.
        noCompress += "bin"
    }

    packaging {
        jniLibs {
            // Unpack the libraries at install: the backend opens its stub as a file.
            useLegacyPackaging = true
            // Qualcomm's files stay as they are.
            keepDebugSymbols += listOf("**/libQnnHtp*.so", "**/libQnnSystem.so")
        }
    }
}

dependencies {
    implementation("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
}
