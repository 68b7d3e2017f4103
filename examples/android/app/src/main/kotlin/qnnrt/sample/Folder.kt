package qnnrt.sample

import android.content.ContentResolver
import android.net.Uri
import android.os.ParcelFileDescriptor
import android.provider.DocumentsContract
import android.provider.DocumentsContract.Document
import java.io.File
import java.io.IOException
import qnnrt.Qnnrt
import qnnrt.QnnrtCopy

/** What the person can mend, said in two sentences: what failed, and what to do. */
class Refused(text: String, val hint: String, cause: Throwable? = null) : Exception(text, cause)

/** A folder cannot be opened by descriptors, for this reason. */
class NotHere(text: String) : Exception(text)

/** A file of a folder that a person chose. Its name is one part of a path, its size below 0 if unknown. */
class Entry(val uri: Uri, val name: String, val bytes: Long)

/**
 * A folder that a person chose in the system's file picker. Threads: any but the main one, because providers may be
 * slow. Errors: [Refused] with cause and remedy.
 */
class Folder(private val resolver: ContentResolver, private val tree: Uri) {
    /** Its files; folders in it are left out. Refused: it may not be read, or has no model. */
    val files: List<Entry> by lazy { list().also(::check) }

    /** The files as QnnrtCopy takes them. */
    fun sources() = files.map { file -> QnnrtCopy.Source(file.name, file.bytes) { resolver.openInputStream(file.uri) } }

    /**
     * Add the files to what opens a model, by descriptors, and open it: nothing is copied. [NotHere]: this folder needs a
     * copy, with the reason. The files must not become shorter until open() returns.
     */
    fun <T> opened(options: Qnnrt.Options, open: (Qnnrt.Options) -> T): T {
        files.firstOrNull { it.name.endsWith(".json") }?.let { throw NotHere("${it.name} is read by its name") }
        val descriptors = mutableListOf<ParcelFileDescriptor>()
        try {
            for (file in ordered(files.filter { it.name.endsWith(".bin") })) {
                val descriptor = try {
                    resolver.openFileDescriptor(file.uri, "r")
                } catch (e: IOException) {
                    throw NotHere("${file.name} has no descriptor: ${e.message}")
                } ?: throw NotHere("${file.name} has no descriptor")
                descriptors += descriptor
                // Providers that load a file from elsewhere give a pipe.
                if (descriptor.statSize < 0) throw NotHere("${file.name} cannot be mapped")
                options.file(file.name, descriptor.fd, 0, -1)
            }
            return open(options)
        } catch (e: SecurityException) {
            throw Refused("the folder may not be read: ${e.message}", AGAIN, e)
        } finally {
            descriptors.forEach(ParcelFileDescriptor::close)
        }
    }

    /** In the order of qnnrt_open(): numbers in names count. Refused: a shard is missing. */
    private fun ordered(files: List<Entry>): List<Entry> {
        val names = files.map { it.name }.toSet()
        names.flatMap(::siblings).firstOrNull { it !in names }
            ?.let { throw Refused("the folder has no $it", "Put the missing file there.") }
        return files.sortedBy { it.name.replace(NUMBER) { digits -> digits.value.padStart(20, '0') } }
    }

    /** The files without which a file is half a model. */
    private fun siblings(name: String): List<String> {
        FORWARD.matchEntire(name)?.let { found -> return numbers(0, found.groupValues[1]).map { "forward_$it.bin" } }
        val (stem, count) = SHARD.matchEntire(name)?.destructured ?: return listOf()
        return numbers(1, count).map { "${stem}_${it}_of_$count.bin" }
    }

    private fun numbers(first: Int, last: String) = first..(last.toIntOrNull() ?: 0).coerceAtMost(1000)

    private fun list(): List<Entry> {
        val columns = arrayOf(Document.COLUMN_DOCUMENT_ID, Document.COLUMN_DISPLAY_NAME, Document.COLUMN_MIME_TYPE,
            Document.COLUMN_SIZE)
        try {
            val children = DocumentsContract.buildChildDocumentsUriUsingTree(tree, DocumentsContract.getTreeDocumentId(tree))
            val rows = resolver.query(children, columns, null, null, null)
                ?: throw Refused("the folder cannot be listed: its provider does not answer", AGAIN)
            return rows.use {
                generateSequence { if (rows.moveToNext()) rows else null }
                    .filter { it.getString(2) != Document.MIME_TYPE_DIR }
                    .map {
                        Entry(DocumentsContract.buildDocumentUriUsingTree(tree, it.getString(0)),
                            File(it.getString(1) ?: "").name, if (it.isNull(3)) -1 else it.getLong(3))
                    }
                    .toList()
            }
        } catch (e: SecurityException) {
            throw Refused("the folder may not be read: ${e.message}", AGAIN, e)
        } catch (e: IllegalArgumentException) {
            throw Refused("the folder is not there: ${e.message}", AGAIN, e)
        }
    }

    /** A person may choose a folder of films: copy none. */
    private fun check(files: List<Entry>) {
        if (files.none { it.name.endsWith(".bin") || it.name == "qnnrt.json" }) {
            throw Refused("the folder has no *.bin file and no qnnrt.json", "Give the folder that holds the *.bin files.")
        }
    }

    private companion object {
        const val AGAIN = "Choose the folder again."
        val NUMBER = Regex("[0-9]+")
        val FORWARD = Regex("forward_([0-9]+)\\.bin")
        val SHARD = Regex("(.*)_[0-9]+_of_([0-9]+)\\.bin")
    }
}
