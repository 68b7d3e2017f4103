import android.app.Activity
import android.content.ContentProvider
import android.content.ContentValues
import android.content.Intent
import android.database.Cursor
import android.database.MatrixCursor
import android.net.Uri
import android.os.Looper
import android.os.ParcelFileDescriptor
import android.provider.DocumentsContract
import android.view.View
import android.view.ViewGroup
import android.widget.Button
import android.widget.EditText
import android.widget.TextView
import java.io.File
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

/** The files of the folder that a test chooses, as the system's file picker shows them. */
class Files : ContentProvider() {
    override fun onCreate() = true

    override fun query(uri: Uri, columns: Array<String>?, words: String?, values: Array<String>?, order: String?): Cursor {
        val rows = MatrixCursor(columns)
        rows.addRow(arrayOf("a folder", "more", DocumentsContract.Document.MIME_TYPE_DIR))
        folder.listFiles()!!.forEach { rows.addRow(arrayOf(it.path, "../" + it.name, "application/octet-stream")) }
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

    private fun start() {
        RuntimeEnvironment.getApplication().applicationInfo.nativeLibraryDir = property("libraries")
        Robolectric.setupContentProvider(Files::class.java, "files")
        screen = Robolectric.buildActivity(MainActivity::class.java).setup()
    }

    private fun choose(folder: String) {
        Files.folder = File(folder)
        press("Choose a folder")
        val asked = Shadows.shadowOf(screen.get()).nextStartedActivityForResult
        assertEquals(Intent.ACTION_OPEN_DOCUMENT_TREE, asked.intent.action)
        val tree = Intent().setData(DocumentsContract.buildTreeDocumentUri("files", "root"))
        val answer = MainActivity::class.java.getDeclaredMethod("onActivityResult", Int::class.java, Int::class.java, Intent::class.java)
        answer.isAccessible = true
        answer.invoke(screen.get(), asked.requestCode, Activity.RESULT_OK, tree)
    }

    @Test fun language_model_writes_the_text() {
        start()
        choose(property("llm"))
        wait("a language model of 256 tokens")
        all().filterIsInstance<EditText>().first().setText(property("prompt"))
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
        assertEquals("layer.bin", File(RuntimeEnvironment.getApplication().filesDir, "model").list()!!.joinToString())
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
}
