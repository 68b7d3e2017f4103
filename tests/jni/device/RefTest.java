package qnnrt.sample;

import android.app.Activity;
import android.app.Instrumentation;
import android.content.Context;
import android.content.res.AssetFileDescriptor;
import android.os.Bundle;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import qnnrt.Qnnrt;
import qnnrt.QnnrtCopy;
import qnnrt.QnnrtException;
import qnnrt.QnnrtLlm;

/**
 * The layer and libQnnRef.so in an emulator or on a phone; no file of Qualcomm is needed. It has no
 * dependency but Android. On the desk, `make llm` writes the model, which becomes assets of the test:
 *
 *   gradle connectedDebugAndroidTest            in examples/android/app, or
 *   adb shell am instrument -w qnnrt.sample.test/qnnrt.sample.RefTest
 *
 * Its parts also run on the desk, under Robolectric, with a folder in place of the assets: `make
 * app-check`. In an emulator it was not run.
 */
public final class RefTest extends Instrumentation {
    private static final String PROMPT = "And the LORD said unto ";

    /** The assets, or what stands for them on the desk. */
    public interface Assets {
        String[] list(String folder) throws IOException;
        InputStream open(String name) throws IOException;
        AssetFileDescriptor openFd(String name) throws IOException;
    }

    /** A part of the test: what it throws is a failure. */
    public interface Part {
        void run() throws Exception;
    }

    /** What the parts use, and the parts by name. */
    public static final class Parts {
        public final List<String> names = Arrays.asList("folder", "descriptors", "descriptor_that_is_closed",
                "compressed_asset", "folder_that_is_not_there", "half_a_model", "stop");
        public final List<Part> parts = Arrays.asList(this::folder, this::descriptors, this::closed,
                this::compressed, this::nothing, this::half, this::stop);
        private final Assets assets;
        private final String library;
        private final File folder;
        private final String[] files;
        private final String text;

        /** Copy the model of the assets into the app. */
        public Parts(Context app, Assets assets) throws IOException {
            this.assets = assets;
            library = app.getApplicationInfo().nativeLibraryDir + "/libQnnRef.so";
            folder = new File(app.getNoBackupFilesDir(), "test");
            files = assets.list("model");
            Arrays.sort(files);
            List<QnnrtCopy.Source> sources = new ArrayList<>();
            for (String file : files) {
                sources.add(new QnnrtCopy.Source(file, -1, () -> assets.open("model/" + file)));
            }
            QnnrtCopy.fill(sources, folder, null);
            QnnrtCopy.settle(folder);
            StringBuilder all = new StringBuilder();
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(assets.open("text"),
                    StandardCharsets.UTF_8))) {
                String line;
                while ((line = lines.readLine()) != null) {
                    all.append(line);
                }
            }
            text = all.toString();
        }

        /** The text is the one that qnnrt-llm wrote on the desk. */
        private void writes(Qnnrt.Model model) {
            try (QnnrtLlm llm = model.llm()) {
                StringBuilder written = new StringBuilder();
                llm.generate(PROMPT, 64, written::append);
                that(text.contains(written) && written.length() == 64, "wrote \"" + written
                        + "\", expected a part of \"" + text + "\"");
            }
        }

        private void folder() {
            try (Qnnrt.Model model = new Qnnrt.Model(folder.getPath(), library)) {
                writes(model);
                String first = model.pipelines().get(0);
                try (Qnnrt.Run run = model.prepare(first)) {
                    for (Qnnrt.Tensor tensor : run.tensors()) {
                        that(run.data(tensor.name).capacity() == tensor.bytes, tensor.name);
                    }
                    run.exec();
                }
            }
        }

        /** The model is read where it lies in the package. */
        private void descriptors() throws IOException {
            List<AssetFileDescriptor> open = new ArrayList<>();
            Qnnrt.Options options = new Qnnrt.Options().backend(library);
            try {
                for (String file : binaries()) {
                    AssetFileDescriptor asset = assets.openFd("model/" + file);
                    open.add(asset);
                    options.file(file, asset.getParcelFileDescriptor().getFd(), asset.getStartOffset(),
                            asset.getLength());
                }
                try (Qnnrt.Model model = new Qnnrt.Model(null, options)) {
                    writes(model);
                }
            } finally {
                for (AssetFileDescriptor asset : open) {
                    asset.close();
                }
            }
        }

        private List<String> binaries() {
            List<String> names = new ArrayList<>();
            for (String file : files) {
                if (file.endsWith(".bin")) {
                    names.add(file);
                }
            }
            return names;
        }

        private void closed() throws IOException {
            String file = binaries().get(0);
            AssetFileDescriptor asset = assets.openFd("model/" + file);
            int fd = asset.getParcelFileDescriptor().getFd();
            long offset = asset.getStartOffset(), bytes = asset.getLength();
            asset.close();
            refused("", () -> new Qnnrt.Model(null, new Qnnrt.Options().backend(library)
                    .file(file, fd, offset, bytes)).close());
        }

        /** Android itself says that it has no descriptor of a compressed asset. */
        private void compressed() {
            try {
                assets.openFd("text").close();
                that(false, "a compressed asset has a descriptor");
            } catch (IOException expected) {
                that(expected.getMessage() != null, "no text");
            }
        }

        private void nothing() {
            refused("cannot read the folder", () -> new Qnnrt.Model(folder + "/none", library).close());
        }

        private void half() throws IOException {
            File half = new File(folder.getParentFile(), "half");
            List<QnnrtCopy.Source> sources = new ArrayList<>();
            for (String file : Arrays.copyOfRange(files, 1, files.length)) {
                sources.add(new QnnrtCopy.Source(file, -1, () -> assets.open("model/" + file)));
            }
            QnnrtCopy.fill(sources, half, null);
            QnnrtCopy.settle(half);
            refused("", () -> {
                try (Qnnrt.Model model = new Qnnrt.Model(half.getPath(), library)) {
                    model.llm().close();
                }
            });
        }

        private void stop() {
            try (Qnnrt.Model model = new Qnnrt.Model(folder.getPath(), library);
                    QnnrtLlm llm = model.llm()) {
                QnnrtLlm.Call call = llm.text(PROMPT, 64, piece -> { });
                call.stop();
                that(call.run().tokens == 0, "a stop before the call was lost");
                writesAfter(llm);
            }
        }

        private void writesAfter(QnnrtLlm llm) {
            that(llm.generate(PROMPT, 3, piece -> { }).tokens == 3, "a stop outlived its call");
        }
    }

    private static void that(boolean good, String reason) {
        if (!good) {
            throw new AssertionError(reason);
        }
    }

    private static void refused(String word, Part part) {
        try {
            part.run();
        } catch (QnnrtException expected) {
            that(expected.getMessage().contains(word), "\"" + expected.getMessage() + "\"");
            return;
        } catch (Exception other) {
            throw new AssertionError("threw " + other, other);
        }
        that(false, "nothing was thrown");
    }

    @Override
    public void onCreate(Bundle arguments) {
        super.onCreate(arguments);
        start();
    }

    /** Report as AndroidJUnitRunner does, so that Gradle and adb show each part. */
    @Override
    public void onStart() {
        Bundle result = new Bundle();
        int failed = 1;
        try {
            Parts parts = new Parts(getTargetContext(), assets());
            failed = 0;
            for (int i = 0; i < parts.names.size(); ++i) {
                failed += report(i, parts) ? 0 : 1;
            }
            result.putString(REPORT_KEY_STREAMRESULT, failed == 0 ? "\nOK (" + parts.names.size()
                    + " tests)\n" : "\nFAILURES!!!\n");
        } catch (Throwable thrown) {
            result.putString(REPORT_KEY_STREAMRESULT, "\n" + trace(thrown));
        }
        finish(failed == 0 ? Activity.RESULT_OK : Activity.RESULT_CANCELED, result);
    }

    private boolean report(int index, Parts parts) {
        Bundle status = new Bundle();
        status.putString("class", RefTest.class.getName());
        status.putString("test", parts.names.get(index));
        status.putInt("current", index + 1);
        status.putInt("numtests", parts.names.size());
        sendStatus(1, status);
        try {
            parts.parts.get(index).run();
            sendStatus(0, status);
            return true;
        } catch (Throwable thrown) {
            status.putString("stack", trace(thrown));
            sendStatus(-2, status);
            return false;
        }
    }

    private Assets assets() {
        android.content.res.AssetManager manager = getContext().getAssets();
        return new Assets() {
            @Override
            public String[] list(String folder) throws IOException {
                return manager.list(folder);
            }

            @Override
            public InputStream open(String name) throws IOException {
                return manager.open(name);
            }

            @Override
            public AssetFileDescriptor openFd(String name) throws IOException {
                return manager.openFd(name);
            }
        };
    }

    private static String trace(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }
}
