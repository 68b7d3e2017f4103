/**
 * The layer for coroutines: calls that wait are `suspend fun`, answers are a Flow.
 *
 *     val model = openModel(folder, null)
 *     val llm = model.openLlm()
 *     llm.texts("Once upon a time", 100).collect { piece -> show(piece) }
 *
 * Threads: any coroutine may call each function, also one of the main thread. What waits does so on
 * a thread of Dispatchers.IO. Calls of one language model wait for each other, first come, first
 * served; a [QnnrtLlm.Call.run] beside them is refused with BUSY, or refuses them.
 *
 * Cancellation: a shard that runs on the device cannot be interrupted. A cancelled coroutine stops
 * its call and no other one, waits until the shard has ended, and ends then. When it has ended, the
 * model may be closed.
 *
 * Ownership: as in [Qnnrt]. What is opened while its coroutine is cancelled is closed again.
 *
 * Errors: the QnnrtException of the call, as it is.
 *
 * It needs kotlinx-coroutines-core. The rest of the layer does not need this file.
 */
package qnnrt

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ProducerScope
import kotlinx.coroutines.channels.onFailure
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext

/**
 * Open a model on one backend, as its constructor does, and throw what it throws. The caller closes
 * it.
 */
suspend fun openModel(folder: String, backend: String?): Qnnrt.Model =
    openModel(folder, Qnnrt.Options().backend(backend))

/**
 * Open a model with options, as its constructor does, and throw what it throws. The caller closes
 * it. Cancellation ends the opening before its next file.
 *
 * @param options are used until this returns; their progress() is set
 * @param progress is called on a thread of Dispatchers.IO
 */
suspend fun openModel(
    folder: String?,
    options: Qnnrt.Options,
    progress: Qnnrt.Progress? = null,
): Qnnrt.Model {
    val job = currentCoroutineContext().job
    options.progress { done, count, file ->
        job.isActive && progress?.file(done, count, file) != false
    }
    return made { Qnnrt.Model(folder, options) }
}

/** Open it as a language model, see [Qnnrt.Model.llm]. The caller closes it before the model. */
suspend fun Qnnrt.Model.openLlm(): QnnrtLlm = made { llm() }

/** The same in memory of a kind. */
suspend fun Qnnrt.Model.openLlm(memory: Qnnrt.Memory): QnnrtLlm = made { llm(memory) }

/** Prepare a pipeline, see [Qnnrt.Model.prepare]. The caller closes it before the model. */
suspend fun Qnnrt.Model.openRun(pipeline: String? = null): Qnnrt.Run = made { prepare(pipeline) }

/**
 * Create everything on the backend again after a restart of the DSP, see [Qnnrt.Model.recover].
 * A cancelled coroutine waits until it has ended. Throws BUSY while a call of the model runs.
 */
suspend fun Qnnrt.Model.awaitRecover() = withContext(Dispatchers.IO) { recover() }

/**
 * Execute, see [Qnnrt.Run.exec]. A cancelled coroutine waits until it has ended: then the buffers
 * are the caller's again. Throws BUSY while another call of the run is in progress.
 */
suspend fun Qnnrt.Run.awaitExec() = withContext(Dispatchers.IO) { exec() }

/**
 * Run a call of [QnnrtLlm.text] or [QnnrtLlm.tokens] in its turn, and return its answer. Listeners
 * are called on a thread of Dispatchers.IO. Cancellation stops the call, also while it waits for
 * its turn. A [QnnrtLlm.Call.stop] makes an answer that says "stopped". Throws what
 * [QnnrtLlm.Call.run] throws.
 */
suspend fun QnnrtLlm.Call.awaitAnswer(): QnnrtLlm.Answer = line().withLock {
    coroutineScope {
        // Undispatched and unconfined: it stops the call on the thread that cancels, at once.
        val watch = launch(Dispatchers.Unconfined, CoroutineStart.UNDISPATCHED) {
            try {
                awaitCancellation()
            } finally {
                stop()
            }
        }
        try {
            withContext(Dispatchers.IO) { run() }
        } finally {
            watch.cancel()
        }
    }
}

/**
 * Write a new text, piece by piece, for a model whose tokens are bytes. Each collection writes it
 * anew, and ends its call when it is cancelled or has enough, as with `take(3)`.
 *
 * The model does not wait for a slow collector: pieces are kept until it takes them. A `buffer()`
 * after it changes that.
 *
 * @param most tokens to write at most
 * @param setUp may call [QnnrtLlm.Call.progress] and [QnnrtLlm.Call.recover], or keep the call for
 *     [QnnrtLlm.Call.stop], which ends the flow as if the text were complete
 * @param ended takes the answer before the flow ends
 * @throws QnnrtException what [QnnrtLlm.text] and [QnnrtLlm.Call.run] throw, when it is collected
 */
fun QnnrtLlm.texts(
    prompt: String,
    most: Int,
    setUp: (QnnrtLlm.Call) -> Unit = { },
    ended: (QnnrtLlm.Answer) -> Unit = { },
): Flow<String> = channelFlow {
    val call = text(prompt, most) { piece -> give(piece) }
    setUp(call)
    ended(call.awaitAnswer())
}.buffer(Channel.UNLIMITED)

/** Write a new text as token numbers, as [texts] does; each collection copies the prompt. */
fun QnnrtLlm.tokens(
    prompt: IntArray,
    most: Int,
    setUp: (QnnrtLlm.Call) -> Unit = { },
    ended: (QnnrtLlm.Answer) -> Unit = { },
): Flow<Int> = channelFlow {
    val call = tokens(prompt, most) { token -> give(token) }
    setUp(call)
    ended(call.awaitAnswer())
}.buffer(Channel.UNLIMITED)

/** Give an element to the collector; without one, throw, so that the answer ends. */
private fun <T> ProducerScope<T>.give(element: T) {
    trySendBlocking(element).onFailure { throw it ?: IllegalStateException("the flow is closed") }
}

/** Return the line of a model's calls: a mutex serves those that wait in their order. */
private fun QnnrtLlm.Call.line(): Mutex {
    val line = model().line
    line.compareAndSet(null, Mutex())
    return line.get() as Mutex
}

/** Open something, and close it again if the coroutine is cancelled meanwhile. */
private suspend fun <T : AutoCloseable> made(open: () -> T): T {
    var made: T? = null
    try {
        return withContext(Dispatchers.IO) { open().also { made = it } }
    } catch (thrown: Throwable) {
        withContext(NonCancellable + Dispatchers.IO) { made?.close() }
        currentCoroutineContext().ensureActive()
        throw thrown
    }
}
