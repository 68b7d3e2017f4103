package qnnrt.sample

import android.app.Activity
import android.content.Intent
import android.net.Uri
import android.os.Bundle
import android.provider.DocumentsContract
import android.provider.DocumentsContract.Document
import android.system.Os
import android.widget.ArrayAdapter
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.Spinner
import android.widget.TextView
import java.io.File
import java.util.concurrent.Executors
import qnnrt.Qnnrt
import qnnrt.QnnrtLlm
import qnnrt.QnnrtException

/**
 * One screen: choose a folder of context binaries and a backend, run, read the text and the times.
 *
 * All calls of a model are made by one thread, [worker]; only QnnrtLlm.stop() is called from the screen.
 */
class MainActivity : Activity() {
    private val worker = Executors.newSingleThreadExecutor()
    private lateinit var backend: Spinner
    private lateinit var prompt: EditText
    private lateinit var times: TextView
    private lateinit var output: TextView

    // Of the worker, except that the screen reads llm to stop it.
    private var model: Qnnrt.Model? = null
    private var library = ""
    private var opened = ""
    @Volatile private var llm: QnnrtLlm? = null

    private val modelFolder get() = File(filesDir, "model")
    private val libraries get() = File(applicationInfo.nativeLibraryDir)
    private val chosenLibrary get() = File(libraries, backend.selectedItem.toString()).path

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        // The DSP looks for the skel there. It is read when the backend is opened.
        Os.setenv("ADSP_LIBRARY_PATH", libraries.path, true)
        backend = Spinner(this).apply {
            adapter = ArrayAdapter(this@MainActivity, android.R.layout.simple_spinner_dropdown_item,
                listOf("libQnnHtp.so", "libQnnRef.so").filter { File(libraries, it).exists() })
        }
        prompt = EditText(this).apply { setText("In the beginning ") }
        times = TextView(this)
        output = TextView(this).apply { setTextIsSelectable(true) }
        setContentView(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            fitsSystemWindows = true
            addView(backend)
            addView(button("Choose a folder") {
                startActivityForResult(Intent(Intent.ACTION_OPEN_DOCUMENT_TREE), 0)
            })
            addView(prompt)
            addView(button("Run") {
                val path = chosenLibrary
                val text = prompt.text.toString()
                work { run(path, text) }
            })
            addView(button("Stop") { llm?.stop() })
            addView(times)
            addView(ScrollView(context).apply { addView(output) })
        })
    }

    override fun onDestroy() {
        llm?.stop()
        worker.execute(::close)
        worker.shutdown()
        super.onDestroy()
    }

    @Deprecated("An activity without androidx has no other way")
    override fun onActivityResult(request: Int, result: Int, data: Intent?) {
        val tree = data?.data ?: return
        val path = chosenLibrary
        work {
            copy(tree)
            open(path)
        }
    }

    private fun button(label: String, action: () -> Unit) =
        Button(this).apply { text = label; setOnClickListener { action() } }

    private fun show(view: TextView, text: String, append: Boolean = false) = runOnUiThread {
        if (append) view.append(text) else view.text = text
    }

    /** Do it on the worker, and show what it throws. */
    private fun work(action: () -> Unit) = worker.execute {
        try {
            action()
        } catch (e: QnnrtException) {
            show(output, "\n${e.message}\n${e.hint}", append = true)
        } catch (e: Exception) {
            show(output, "\n$e", append = true)
        }
    }

    private fun close() {
        llm?.close()
        llm = null
        model?.close()
        model = null
    }

    /** Copy the files of a chosen folder, because a backend opens files by path. */
    private fun copy(tree: Uri) {
        val fresh = File(filesDir, "model.new")
        fresh.deleteRecursively()
        fresh.mkdirs()
        val children = DocumentsContract.buildChildDocumentsUriUsingTree(tree,
            DocumentsContract.getTreeDocumentId(tree))
        val columns = arrayOf(Document.COLUMN_DOCUMENT_ID, Document.COLUMN_DISPLAY_NAME,
            Document.COLUMN_MIME_TYPE)
        contentResolver.query(children, columns, null, null, null)?.use { rows ->
            while (rows.moveToNext()) {
                if (rows.getString(2) == Document.MIME_TYPE_DIR) continue
                val name = File(rows.getString(1)).name
                show(times, "copying $name")
                val from = DocumentsContract.buildDocumentUriUsingTree(tree, rows.getString(0))
                contentResolver.openInputStream(from)?.use { input ->
                    File(fresh, name).outputStream().use { input.copyTo(it) }
                }
            }
        }
        close()                                 // a file must not change while a model maps it
        modelFolder.deleteRecursively()
        fresh.renameTo(modelFolder)
    }

    private fun open(path: String) {
        close()
        val begin = System.nanoTime()
        val fresh = Qnnrt.Model(modelFolder.path, path)
        model = fresh
        library = path
        val notice = try {
            llm = fresh.llm()
            "a language model of ${llm?.vocabulary} tokens"
        } catch (e: QnnrtException) {
            "not a language model: ${e.message}"
        }
        opened = "opened in ${ms(System.nanoTime() - begin)}"
        show(times, opened)
        show(output, notice)
    }

    private fun run(path: String, text: String) {
        if (model == null || path != library) open(path)
        try {
            use(text)
        } catch (e: QnnrtException) {
            if (!e.isRestart) throw e
            model?.recover()                    // the DSP restarted: all of it is created again
            use(text)
        }
    }

    private fun use(text: String) {
        val writer = llm
        if (writer != null) write(writer, text) else execute(model!!)
    }

    /** Let the model continue the prompt: a text if its tokens are bytes, else numbers. */
    private fun write(writer: QnnrtLlm, text: String) {
        show(output, text)
        val answer = if (writer.vocabulary == 256) {
            writer.generate(text, 200) { piece -> show(output, piece, append = true) }
        } else {
            val tokens = text.split(' ').filter { it.isNotEmpty() }.map { it.toInt() }
            writer.generate(tokens.toIntArray(), 200) { token -> show(output, " $token", append = true) }
        }
        val rate = answer.tokens * 1e9 / answer.writeNanos
        show(times, "$opened; ${answer.promptTokens} tokens read in ${ms(answer.promptNanos)}; " +
            "${answer.tokens} written, %.1f per second; ended by: ${answer.stopped}".format(rate))
    }

    /** Run every pipeline ten times, and show its tensors and the fastest time. */
    private fun execute(model: Qnnrt.Model) {
        show(output, "")
        for (name in model.pipelines()) {
            model.prepare(name).use { run ->
                val best = (1..10).minOf {
                    val begin = System.nanoTime()
                    run.exec()
                    System.nanoTime() - begin
                }
                val tensors = run.tensors().filter { it.role != "edge" }
                    .joinToString("\n") { "${it.role} ${it.name}: ${it.text}" }
                show(output, "$name: ${ms(best)}\n$tensors\n\n", append = true)
            }
        }
    }

    private fun ms(nanos: Long) = "%.2f ms".format(nanos / 1e6)
}
