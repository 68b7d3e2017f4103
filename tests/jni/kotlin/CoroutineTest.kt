import java.io.File
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.LockSupport
import kotlin.random.Random
import kotlin.system.exitProcess
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import qnnrt.Qnnrt
import qnnrt.QnnrtException
import qnnrt.QnnrtLlm
import qnnrt.awaitAnswer
import qnnrt.awaitExec
import qnnrt.awaitRecover
import qnnrt.openLlm
import qnnrt.openModel
import qnnrt.openRun
import qnnrt.texts
import qnnrt.tokens

/*
 * Qnnrt.kt on the desk, on libQnnRef.so. tests/jni/kotlin.sh runs it:
 *
 *   CoroutineTestKt LIBRARY LLM_DIR COUNT PROMPT TEXT
 *
 * COUNT coroutines are cancelled at random moments: flows and calls, running and waiting.
 */
private var passed = 0
private var failed = 0

private fun check(name: String, good: Boolean, reason: String) {
    if (good) ++passed else ++failed
    if (!good) println("kotlin: $name: $reason")
}

private fun equal(name: String, expected: Any?, found: Any?) =
    check(name, expected == found, "expected $expected, found $found")

private suspend fun part(name: String, body: suspend CoroutineScope.() -> Unit) = try {
    coroutineScope(body)
    check(name, true, "")
} catch (thrown: Throwable) {
    check(name, false, "threw $thrown")
    thrown.printStackTrace(System.out)
}

private suspend fun refused(name: String, code: Int, body: suspend () -> Unit) = try {
    body()
    check(name, false, "threw nothing")
} catch (thrown: QnnrtException) {
    equal(name, code, thrown.code)
}

private class Words(val llm: QnnrtLlm, val prompt: String, val text: String)

private suspend fun Words.answers() {
    val answers = mutableListOf<QnnrtLlm.Answer>()
    val pieces = llm.texts(prompt, text.length, ended = { answers += it }).toList()
    equal("flow", text, pieces.joinToString(""))
    equal("flow_streams", text.length, pieces.size)
    equal("answer", "most ${prompt.length}", answers[0].stopped + " " + answers[0].promptTokens)
    val numbers = IntArray(prompt.length) { prompt[it].code }
    val tokens = llm.tokens(numbers, 5).toList()
    equal("flow_of_tokens", text.take(5), tokens.joinToString("") { it.toChar().toString() })
    var told = ""
    llm.texts(prompt + prompt, 1, setUp = { it.progress { done, all -> told += "$done/$all " } }).toList()
    equal("progress", "32/46 46/46 ", told)

    val flow = llm.texts(prompt, text.length)
    equal("a_collection_with_enough", text.take(3), flow.take(3).toList().joinToString(""))
    llm.sampling(0f, 0, 0f, 0)                  // not BUSY: the call has ended
    equal("each_collection_begins_anew", text.take(4), flow.take(4).toList().joinToString(""))
    equal("without_a_buffer", text, flow.buffer(Channel.RENDEZVOUS).toList().joinToString(""))
    var slow = ""
    llm.texts(prompt, 5).collect { delay(5); slow += it }
    equal("a_slow_collector", text.take(5), slow)
    var inner = ""
    llm.texts(prompt, 2).collect { inner += it + llm.texts(prompt, 2).toList().joinToString("") }
    equal("a_collector_collects", text[0] + text.take(2) + text[1] + text.take(2), inner)

    refused("an_empty_prompt", QnnrtException.ARG) { llm.tokens(IntArray(0), 1).collect { } }
    try {
        llm.texts(prompt, 60).collect { throw IllegalStateException("enough") }
        check("a_collector_throws", false, "nothing came through")
    } catch (thrown: IllegalStateException) {
        equal("a_collector_throws", "enough", thrown.message)
    }
    var call: QnnrtLlm.Call? = null
    var heard = ""
    llm.texts(prompt, 60, setUp = { call = it }).collect { heard += it; call!!.stop() }
    check("a_stop_completes_a_flow", heard.isNotEmpty() && text.startsWith(heard), heard)
}

private suspend fun Words.line() = coroutineScope {
    val texts = List(6) { async { llm.texts(prompt, 9).toList().joinToString("") } }.awaitAll()
    equal("calls_wait_for_each_other", List(6) { text.take(9) }, texts)

    val begun = Channel<Unit>(1)
    val go = java.util.concurrent.CountDownLatch(1)
    val first = async {
        llm.text(prompt, 3) { begun.trySend(Unit); go.await() }.awaitAnswer()
    }
    begun.receive()
    val count = AtomicInteger()
    val waits = launch { llm.text(prompt, 3) { count.incrementAndGet() }.awaitAnswer() }
    val told = llm.text(prompt, 3) { count.incrementAndGet() }
    val stopped = async { told.awaitAnswer() }
    val last = async { llm.text(prompt, 3) { }.awaitAnswer() }
    yield()
    waits.cancelAndJoin()                       // while the first one still runs
    told.stop()
    refused("a_call_beside_the_line", QnnrtException.BUSY) { llm.generate("a", 1) { _: String -> } }
    go.countDown()
    equal("the_call_before", "most 3", first.await().let { "${it.stopped} ${it.tokens}" })
    equal("a_stop_while_it_waits", "stopped 0", stopped.await().let { "${it.stopped} ${it.promptTokens}" })
    equal("the_call_after", "most 3", last.await().let { "${it.stopped} ${it.tokens}" })
    equal("neither_wrote", 0, count.get())
}

/** Cancel so many coroutines: each ends with its call, and the calls beside it lose nothing. */
private suspend fun Words.cancellations(count: Int) = coroutineScope {
    val random = Random(33)
    var wrong = 0
    var beside = 0
    val kinds = IntArray(3)                     // nothing heard, a part, the whole
    for (i in 0 until count) {
        val heard = StringBuffer()
        val other = if (i % 16 == 0) async { llm.texts(prompt, 2).toList().joinToString("") } else null
        val job: Job = launch(Dispatchers.Default) {
            if (i % 2 == 0) llm.texts(prompt, 6).collect { heard.append(it) }
            else llm.text(prompt, 6) { heard.append(it) }.awaitAnswer()
        }
        LockSupport.parkNanos((Math.pow(random.nextDouble(), 3.0) * 2e7).toLong())
        job.cancelAndJoin()
        val found = heard.toString()
        if (other != null && other.await() != text.take(2)) ++beside
        try {
            llm.sampling(0f, 0, 0f, 0)          // no call runs any more
        } catch (_: QnnrtException) {
            ++wrong
        }
        if (!text.startsWith(found) || heard.length != found.length) ++wrong
        ++kinds[if (found.isEmpty()) 0 else if (found.length < 6) 1 else 2]
    }
    println("$count coroutines cancelled: ${kinds[0]} before a piece, ${kinds[1]} after some, ${kinds[2]} had ended")
    equal("cancelled_calls_end", 0, wrong)
    equal("other_calls_are_not_cancelled", 0, beside)
    check("at_all_moments", kinds.all { it > 0 }, kinds.joinToString())
    equal("after_all_this_it_writes", text, llm.texts(prompt, text.length).toList().joinToString(""))
}

/** A model that is opened while its coroutine is cancelled does not stay open. */
private suspend fun opened(folder: String, library: String) = coroutineScope {
    val random = Random(3)
    var closed = 0
    for (i in 0 until 100) {
        val job = async(Dispatchers.Default) { openModel(folder, library) }
        val until = System.nanoTime() + random.nextLong(4_000_000)
        while (System.nanoTime() < until) yield()
        job.cancelAndJoin()
        try {
            job.await().close()
        } catch (_: CancellationException) {
            ++closed
        }
    }
    val files = mutableListOf<String>()
    openModel(folder, Qnnrt.Options().backend(library)) { done, all, file -> files.add("$done/$all $file") }.close()
    check("files_of_an_opening", files.size == 5 && files[4].startsWith("4/4"), files.toString())
    refused("a_progress_that_ends_it", QnnrtException.CANCELLED) {
        openModel(folder, Qnnrt.Options().backend(library)) { _, _, _ -> false }
    }
    val mapped = File("/proc/self/maps").readLines().count { folder in it }
    check("cancelled_openings_are_closed", mapped == 0 && closed > 0, "$mapped mappings, $closed cancelled")
}

fun main(arguments: Array<String>) = runBlocking<Unit>(Dispatchers.Default) {
    val (library, folder, count) = arguments
    part("opened") { opened(folder, library) }
    val model = openModel(folder, library)
    val run = model.openRun("token_ar1_cl128")
    run.awaitExec()
    model.awaitRecover()
    val words = Words(model.openLlm(), arguments[3], arguments[4])
    part("answers") { words.answers() }
    part("line") { words.line() }
    val shared = Words(model.openLlm(Qnnrt.Memory.MEMFD), arguments[3], arguments[4])
    equal("memory", "memfd", shared.llm.memory())
    equal("shared_memory_writes", shared.text, shared.llm.texts(shared.prompt, shared.text.length).toList().joinToString(""))
    shared.llm.close()
    part("cancellations") { words.cancellations(count.toInt()) }
    words.llm.close()
    refused("a_closed_model", QnnrtException.STATE) { words.llm.texts("a", 1).collect { } }
    run.close()
    model.close()
    println("$passed passed, $failed failed")
    exitProcess(if (failed != 0) 1 else 0)
}
