package qnnrt.sample

import android.content.ContentResolver
import android.content.Context
import android.content.Intent
import android.net.Uri
import android.os.Handler
import android.os.Looper
import android.system.Os
import java.io.File
import java.util.concurrent.Executors
import qnnrt.Qnnrt
import qnnrt.QnnrtCopy
import qnnrt.QnnrtDevice
import qnnrt.QnnrtException
import qnnrt.QnnrtLlm
import qnnrt.QnnrtSkels

/**
 * The model and what the screen shows of it. It outlives the screen: when Android makes the activity anew, the new one
 * gets the same session, and a copy or an answer goes on.
 *
 * Threads: the screen calls it on the main thread. All calls of a model are made by one thread, [worker]; only stop()
 * reaches into them. What a killed process leaves is the chosen folder in [settings] and a complete model, or none.
 */
class Session(private val app: Context) {
    /** Told on the main thread when [times] or [output] has changed. */
    var changed: () -> Unit = { }
    var times = ""
        private set
    var output = ""
        private set

    private val main = Handler(Looper.getMainLooper())
    private val worker = Executors.newSingleThreadExecutor()
    private val settings = app.getSharedPreferences("session", Context.MODE_PRIVATE)
    private val resolver: ContentResolver get() = app.contentResolver

    // Not in filesDir: neither a backup nor a move to another phone takes gigabytes.
    private val modelFolder = File(app.noBackupFilesDir, "model")

    // Of the worker.
    private var model: Qnnrt.Model? = null
    private var llm: QnnrtLlm? = null
    private var library = ""
    private var opened = ""

    // What stop() reaches: the number of stops so far, and the answer that is being written.
    @Volatile private var stops = 0
    @Volatile private var call: QnnrtLlm.Call? = null

    init {
        work {
            QnnrtCopy.settle(modelFolder)
            settings.getString(COPYING, null)?.let {
                settings.edit().remove(COPYING).apply()
                say("the copy of $it did not end: choose the folder again")
            }
        }
    }

    /** Show again what an ended process showed. */
    fun restore(times: String, output: String) {
        this.times = times
        this.output = output
    }

    /** Open the model of a folder that was chosen: by descriptors where that works, else in a copy. */
    fun choose(tree: Uri, path: String) = work { born ->
        keep(tree)
        try {
            open(path, tree, born)
            settings.edit().putString(TREE, tree.toString()).commit()
            modelFolder.deleteRecursively()     // an older copy
        } catch (e: NotHere) {
            copy(tree, born)
            open(path, null, born)
            say("copied, because ${e.message}; $opened")
        }
    }

    /** Open the model if it is not open on this library, and let it write, or execute it. */
    fun run(path: String, text: String) = work { born ->
        if (model == null || path != library) open(path, settings.getString(TREE, null)?.let(Uri::parse), born)
        try {
            use(text, born)
        } catch (e: QnnrtException) {
            if (!e.isRestart) throw e
            model?.recover()                    // the DSP restarted: all of it is created again
            use(text, born)
        }
    }

    /** End what runs and what waits, and nothing that is asked for later. */
    fun stop() {
        ++stops
        call?.stop()
    }

    /** Free what the model has on the device when nothing runs; the next run loads it again. */
    fun trim() = work {
        model?.let {
            it.budget(0)
            it.budget(Long.MAX_VALUE)
            say("freed, because Android asked for memory")
        }
        Qnnrt.trim()
    }

    /** End for good: what runs is stopped, and the model closed. */
    fun end() {
        stop()
        changed = { }
        worker.execute(::close)
        worker.shutdown()
    }

    private fun show(text: String, append: Boolean = true) = main.post {
        output = if (append) output + text else text
        changed()
    }

    private fun say(text: String) = main.post {
        times = text
        changed()
    }

    /** Do it on the worker, with the number of stops before it, and show what it throws. */
    private fun work(action: (born: Int) -> Unit) {
        val born = stops
        worker.execute {
            try {
                action(born)
            } catch (e: QnnrtException) {
                if (e.code == QnnrtException.CANCELLED) say("cancelled") else show("\n${e.message}\n${e.hint}")
            } catch (e: Refused) {
                show("\n${e.message}\n${e.hint}")
            } catch (e: Exception) {
                show("\n$e")
            }
        }
    }

    private fun close() {
        llm?.close()
        llm = null
        model?.close()
        model = null
    }

    /** Keep the permission of a folder beyond this process, and of no other folder. */
    private fun keep(tree: Uri) {
        try {
            resolver.takePersistableUriPermission(tree, Intent.FLAG_GRANT_READ_URI_PERMISSION)
        } catch (_: SecurityException) {
            return                              // its provider gives it for this process only
        }
        resolver.persistedUriPermissions.map { it.uri }.filter { it != tree }.forEach {
            resolver.releasePersistableUriPermission(it, Intent.FLAG_GRANT_READ_URI_PERMISSION)
        }
    }

    /** Copy the files of a chosen folder into the app, whole or not at all. */
    private fun copy(tree: Uri, born: Int) {
        val folder = Folder(resolver, tree)
        val sources = folder.sources()
        var last = ""
        settings.edit().putString(COPYING, tree.lastPathSegment ?: "a folder").commit()
        try {
            QnnrtCopy.fill(sources, modelFolder) { done, total ->
                val text = if (total > 0) "copying ${100 * (done.toDouble() / total).coerceAtMost(1.0)}".substringBefore('.') + " %"
                    else "copying ${done / 1_000_000} MB"
                if (text != last) say(text)
                last = text
                born == stops
            }
            close()                             // a file must not change while a model maps it
            settings.edit().remove(TREE).commit()
            QnnrtCopy.settle(modelFolder)
        } finally {
            settings.edit().remove(COPYING).apply()
        }
    }

    /** Copy the DSP's files out of the package, once, and tell the DSP where they are: it reads that when a backend opens. */
    private fun deliver() {
        val own = try {
            QnnrtSkels.install({ app.assets.open("skels/$it") }, File(app.noBackupFilesDir, "skels"),
                QnnrtDevice.look().generation).path + ";"
        } catch (e: QnnrtException) {
            if (e.code != QnnrtException.NOT_FOUND) throw e
            ""                                  // not in this package: the phone's own are tried
        }
        Os.setenv("ADSP_LIBRARY_PATH", own + VENDOR_FOLDERS, true)
    }

    /** Open the folder that was chosen, or the copy of it. */
    private fun open(path: String, tree: Uri?, born: Int) {
        close()
        if (path.endsWith("/libQnnHtp.so")) deliver()
        val begin = System.nanoTime()
        val options = Qnnrt.Options().backend(path).budget(Long.MAX_VALUE).progress { done, count, file ->
            if (file.isNotEmpty()) say("opening $file, ${done + 1} of $count")
            born == stops
        }
        val fresh = if (tree == null) Qnnrt.Model(modelFolder.path, options)
            else Folder(resolver, tree).opened(options) { Qnnrt.Model(null, it) }
        model = fresh
        library = path
        val notice = try {
            llm = fresh.llm()
            "a language model of ${llm?.vocabulary} tokens"
        } catch (e: QnnrtException) {
            "not a language model: ${e.message}"
        }
        opened = "opened in ${ms(System.nanoTime() - begin)}"
        say(opened)
        show(notice, append = false)
    }

    private fun use(text: String, born: Int) {
        val writer = llm
        if (writer != null) write(writer, text, born) else execute(model!!, born)
    }

    /** Let the model continue the prompt: a text if its tokens are bytes, else numbers. */
    private fun write(writer: QnnrtLlm, text: String, born: Int) {
        show(text, append = false)
        val begun = if (writer.vocabulary == 256) {
            writer.text(text, 200) { piece -> show(piece) }
        } else {
            val tokens = text.split(' ').filter { it.isNotEmpty() }.map { it.toIntOrNull()
                ?: throw Refused("\"$it\" is no token number", "Write numbers with spaces between them.") }
            writer.tokens(tokens.toIntArray(), 200) { token -> show(" $token") }
        }
        call = begun
        if (born != stops) begun.stop()         // stop() may have come before there was a call
        val answer = try {
            begun.run()
        } finally {
            call = null
        }
        val rate = answer.tokens * 1e9 / answer.writeNanos
        say("$opened; ${answer.promptTokens} tokens read in ${ms(answer.promptNanos)}; " +
            "${answer.tokens} written, %.1f per second; ended by: ${answer.stopped}".format(rate))
    }

    /** Run every pipeline ten times, and show its tensors and the fastest time. */
    private fun execute(model: Qnnrt.Model, born: Int) {
        show("", append = false)
        for (name in model.pipelines()) {
            model.prepare(name).use { run ->
                val best = (1..10).filter { born == stops || it == 1 }.minOf {
                    val begin = System.nanoTime()
                    run.exec()
                    System.nanoTime() - begin
                }
                val tensors = run.tensors().filter { it.role != "edge" }
                    .joinToString("\n") { "${it.role} ${it.name}: ${it.text}" }
                show("$name: ${ms(best)}\n$tensors\n\n")
            }
        }
    }

    private fun ms(nanos: Long) = "%.2f ms".format(nanos / 1e6)

    private companion object {
        const val VENDOR_FOLDERS = "/vendor/dsp/cdsp;/vendor/lib/rfsa/adsp"     // as tools/phone.sh has them
        const val COPYING = "copying"
        const val TREE = "tree"
    }
}
