import android.app.Activity
import android.content.ComponentCallbacks2
import android.content.ContentProvider
import android.content.ContentValues
import android.content.Context
import android.content.Intent
import android.content.res.AssetFileDescriptor
import android.database.Cursor
import android.database.MatrixCursor
import android.net.Uri
import android.os.Bundle
import android.os.Looper
import android.os.ParcelFileDescriptor
import android.provider.DocumentsContract
import android.view.View
import android.view.ViewGroup
import android.widget.Button
import android.widget.EditText
import android.widget.TextView
import java.io.File
import java.io.FileNotFoundException
import java.io.InputStream
import java.util.concurrent.CountDownLatch
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.Robolectric
import org.robolectric.RobolectricTestRunner
import org.robolectric.RuntimeEnvironment
import org.robolectric.Shadows
import org.robolectric.android.controller.ActivityController
import org.robolectric.annotation.Config
import qnnrt.sample.MainActivity
import qnnrt.sample.RefTest

/** The files of the folder that a test chooses, as the system's file picker shows them. */
class Files : ContentProvider() {
    override fun onCreate() = true

    override fun query(uri: Uri, columns: Array<String>?, words: String?, values: Array<String>?, order: String?): Cursor {
        if (denied) throw SecurityException("no permission for $uri")
        val rows = MatrixCursor(columns)
        rows.addRow(arrayOf<Any?>("a folder", "more", DocumentsContract.Document.MIME_TYPE_DIR, null))
        folder.listFiles()!!.forEach { rows.addRow(arrayOf<Any?>(it.path, "../" + it.name, "application/octet-stream", size(it))) }
        return rows
    }

    override fun openFile(uri: Uri, mode: String): ParcelFileDescriptor =
        ParcelFileDescriptor.open(File(DocumentsContract.getDocumentId(uri)), ParcelFileDescriptor.MODE_READ_ONLY)

    override fun getType(uri: Uri): String? = null
    override fun insert(uri: Uri, values: ContentValues?): Uri? = null
    override fun delete(uri: Uri, words: String?, values: Array<String>?) = 0
    override fun update(uri: Uri, new: ContentValues?, words: String?, values: Array<String>?) = 0

    companion object {
        lateinit var folder: File
        var denied = false
        var size: (File) -> Long? = File::length
    }
}

/** MainActivity.kt on Android 15's classes, with libqnnrt_jni.so and libQnnRef.so of the desk. */
@RunWith(RobolectricTestRunner::class)
@Config(sdk = [35], manifest = Config.NONE)
class ScreenTest {
    private lateinit var screen: ActivityController<MainActivity>

    private fun property(name: String) = System.getProperty("screen.$name")!!

    private fun views(view: View): List<View> =
        listOf(view) + if (view is ViewGroup) (0 until view.childCount).flatMap { views(view.getChildAt(it)) } else listOf()

    private fun all() = views(screen.get().window.decorView)
    private fun texts() = all().filterIsInstance<TextView>().joinToString("\n") { it.text }
    private fun press(label: String) = all().filterIsInstance<Button>().first { it.text == label }.performClick()

    /** Run the screen's loop until the text appears. */
    private fun wait(text: String) {
        for (i in 0 until 6000) {
            Shadows.shadowOf(Looper.getMainLooper()).idle()
            if (texts().contains(text)) return
            Thread.sleep(10)
        }
        assertTrue("no \"$text\" in: ${texts()}", false)
    }

    private val app get() = RuntimeEnvironment.getApplication()
    private val tree = DocumentsContract.buildTreeDocumentUri("files", "root")

    private fun start(state: Bundle? = null) {
        app.applicationInfo.nativeLibraryDir = property("libraries")
        Robolectric.setupContentProvider(Files::class.java, "files")
        Files.denied = false
        Files.size = File::length
        screen = Robolectric.buildActivity(MainActivity::class.java)
        if (state == null) screen.setup() else screen.create(state).start().restoreInstanceState(state).resume().visible()
    }

    private fun folders() = app.noBackupFilesDir.list()!!.filter { it.startsWith("model") }.toString()

    /** What the app keeps of models: the files of the folder that was copied last, and nothing beside it. */
    private fun kept(): String {
        assertEquals("[model]", folders())
        return File(app.noBackupFilesDir, "model").list()!!.sorted().joinToString()
    }

    private fun prompt(text: String) = all().filterIsInstance<EditText>().first().setText(text)

    /** A folder with JSON in it, which is copied, because JSON is read by its name. */
    private fun named(name: String): String {
        val folder = File(app.cacheDir, name)
        File(property(name)).copyRecursively(folder, overwrite = true)
        File(folder, "notes.json").writeText("{}")
        return folder.path
    }

    /** The same without JSON, which is opened by descriptors. */
    private fun bare(name: String): File {
        val folder = File(app.cacheDir, "bare $name")
        File(property(name)).copyRecursively(folder)
        folder.listFiles()!!.filter { it.extension != "bin" }.forEach { it.delete() }
        return folder
    }

    /** Choose the layer's folder, and let its file come slowly: 45 percent of it, and the rest when the latch opens. */
    private fun slow(latch: CountDownLatch) {
        val file = File(named("layer"), "layer.bin")
        val content = file.readBytes()
        var done = 0
        val stream = object : InputStream() {
            override fun read() = throw UnsupportedOperationException()
            override fun read(into: ByteArray, from: Int, most: Int): Int {
                if (done == content.size) return -1
                if (done > 0) latch.await()
                val count = if (done > 0) content.size - done else content.size * 45 / 100
                content.copyInto(into, from, done, done + count)
                done += count
                return count
            }
        }
        Shadows.shadowOf(app.contentResolver).registerInputStream(DocumentsContract.buildDocumentUriUsingTree(tree, file.path), stream)
        choose(file.parent!!)
        wait("copying 4")                       // 44 or 45 percent: notes.json is small
    }

    private fun choose(folder: String) {
        Files.folder = File(folder)
        press("Choose a folder")
        val asked = Shadows.shadowOf(screen.get()).nextStartedActivityForResult
        assertEquals(Intent.ACTION_OPEN_DOCUMENT_TREE, asked.intent.action)
        val answer = MainActivity::class.java.getDeclaredMethod("onActivityResult", Int::class.java, Int::class.java, Intent::class.java)
        answer.isAccessible = true
        answer.invoke(screen.get(), asked.requestCode, Activity.RESULT_OK, Intent().setData(tree))
    }

    @Test fun language_model_writes_the_text() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        prompt(property("prompt"))
        press("Run")
        wait("ended by: full")
        assertTrue(texts(), texts().contains(property("prompt") + property("text")))
        assertTrue(texts(), texts().contains("opened in"))
        screen.destroy()
    }

    @Test fun another_model_runs() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        choose(property("layer"))
        wait("not a language model")
        press("Run")
        wait("output y: float32[1,2]")
        assertTrue(texts(), texts().contains("layer: "))
        assertEquals("[]", folders())
        screen.destroy()
    }

    @Test fun a_failure_is_shown_with_its_hint() {
        start()
        press("Run")
        wait("cannot read the folder")
        choose(property("libraries"))
        wait("Give the folder that holds the *.bin files.")
        screen.destroy()
    }

    @Test fun a_turned_screen_shows_the_same_model() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        prompt(property("prompt"))
        val before = screen.get()
        screen.recreate()
        assertTrue(before !== screen.get())
        wait("a language model of 256 tokens")
        wait(property("prompt"))
        press("Run")
        wait("ended by: full")
        assertTrue(texts(), texts().contains(property("prompt") + property("text")))
        screen.destroy()
    }

    @Test fun a_copy_goes_on_when_the_screen_turns() {
        val latch = CountDownLatch(1)
        start()
        slow(latch)
        screen.recreate()
        wait("copying 4")
        latch.countDown()
        wait("not a language model")
        wait("copied, because notes.json is read by its name; opened in")
        assertEquals("layer.bin, notes.json", kept())
        screen.destroy()
    }

    @Test fun a_cancelled_copy_leaves_the_old_model() {
        val latch = CountDownLatch(1)
        start()
        choose(named("llm"))
        wait("a language model of 256 tokens")
        val before = kept()
        slow(latch)
        press("Stop")
        latch.countDown()
        wait("cancelled")
        assertEquals(before, kept())
        press("Run")
        wait("ended by: full")
        screen.destroy()
    }

    @Test fun what_an_ended_process_showed_is_shown_again() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        prompt(property("prompt"))
        press("Run")
        wait("ended by: full")
        val state = Bundle()
        screen.pause().stop().saveInstanceState(state).destroy()
        start(state)
        wait("ended by: full")
        assertTrue(texts(), texts().contains(property("prompt") + property("text")))
        press("Run")
        wait("opened in")
        wait("ended by: full")
        screen.destroy()
    }

    @Test fun a_copy_that_was_killed_is_removed_and_named() {
        app.getSharedPreferences("session", Context.MODE_PRIVATE).edit().putString("copying", "primary:Download/chat").commit()
        File(app.noBackupFilesDir, "model.part").mkdirs()
        File(app.noBackupFilesDir, "model.part/a.bin").writeText("half")
        start()
        wait("the copy of primary:Download/chat did not end")
        assertEquals("[]", folders())
        screen.destroy()
    }

    @Test fun memory_that_android_asks_for_is_freed() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        screen.get().onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_BACKGROUND)
        wait("freed, because Android asked for memory")
        press("Run")
        wait("ended by: full")
        screen.destroy()
    }

    @Test fun what_cannot_be_copied_is_said_and_the_app_goes_on() {
        start()
        choose(named("layer"))
        wait("not a language model")
        Files.denied = true
        choose(named("llm"))
        wait("may not be read: no permission")
        wait("Choose the folder again.")
        Files.denied = false
        Files.size = { it.length() + 1 }
        choose(named("llm"))
        wait("bytes expected")
        Files.size = { 1L shl 60 }
        choose(named("llm"))
        wait("bytes left")
        wait("MB of storage")
        assertEquals("layer.bin, notes.json", kept())
        Files.size = { null }
        choose(named("llm"))
        wait("a language model of 256 tokens")
        screen.destroy()
    }

    @Test fun a_folder_is_opened_by_descriptors_again_and_again() {
        start()
        choose(named("layer"))
        wait("not a language model")
        choose(bare("llm").path)
        wait("a language model of 256 tokens")
        for (i in 0 until 500) if (folders() != "[]") Thread.sleep(10)      // the copy before it goes at last
        assertEquals("[]", folders())
        screen.pause().stop().destroy()
        start(Bundle())
        prompt(property("prompt"))
        press("Run")
        wait("ended by: full")
        assertTrue(texts(), texts().contains(property("prompt") + property("text")))
        Files.denied = true
        screen.get().onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_BACKGROUND)
        wait("freed, because")
        press("Run")                            // what is open stays so without permission
        wait("ended by: full")
        screen.pause().stop().destroy()
        start(Bundle())
        Files.denied = true
        press("Run")
        wait("may not be read: no permission")
        screen.destroy()
    }

    @Test fun a_folder_that_lacks_a_shard_is_refused() {
        val half = bare("llm")
        val missing = File(half, "forward_2.bin")
        missing.delete()
        start()
        choose(half.path)
        wait("the folder has no ${missing.name}")
        wait("Put the missing file there.")
        screen.destroy()
    }

    /** What RefTest.java does in an emulator; a folder stands for the assets of the test. */
    @Test fun instrumented_parts_run_on_the_desk() {
        app.applicationInfo.nativeLibraryDir = property("libraries")
        val parts = RefTest.Parts(app, object : RefTest.Assets {
            override fun list(folder: String) = File(property("llm")).list()
            override fun open(name: String) = if (name == "text") (property("prompt") + property("text")).byteInputStream() else file(name).inputStream()
            override fun openFd(name: String): AssetFileDescriptor {
                if (name == "text") throw FileNotFoundException("This file can not be opened as a file descriptor; it is probably compressed")
                return AssetFileDescriptor(ParcelFileDescriptor.open(file(name), ParcelFileDescriptor.MODE_READ_ONLY), 0, file(name).length())
            }
            private fun file(name: String) = File(property("llm"), File(name).name)
        })
        for (i in parts.names.indices) {
            try {
                parts.parts[i].run()
            } catch (e: Throwable) {
                throw AssertionError(parts.names[i], e)
            }
        }
    }
}
