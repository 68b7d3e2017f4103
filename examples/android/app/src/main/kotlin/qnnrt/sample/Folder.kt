package qnnrt.sample

import android.content.ContentResolver
import android.net.Uri
import android.provider.DocumentsContract
import android.provider.DocumentsContract.Document
import java.io.File
import qnnrt.QnnrtCopy

/** What the person can mend, said in two sentences: what failed, and what to do. */
class Refused(text: String, val hint: String, cause: Throwable? = null) : Exception(text, cause)

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
    }
}
