package qnnrt.sample

import android.app.Activity
import android.content.ComponentCallbacks2
import android.content.Intent
import android.os.Bundle
import android.view.View
import android.widget.ArrayAdapter
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.Spinner
import android.widget.TextView
import java.io.File

/** One screen: choose a folder of context binaries and a backend, run, read the text and the times. */
class MainActivity : Activity() {
    private lateinit var session: Session
    private lateinit var backend: Spinner
    private lateinit var prompt: EditText
    private lateinit var times: TextView
    private lateinit var output: TextView

    private val libraries get() = File(applicationInfo.nativeLibraryDir)
    private val chosenLibrary get() = File(libraries, backend.selectedItem?.toString() ?: "libQnnHtp.so").path

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        backend = Spinner(this).apply {
            id = BACKEND
            adapter = ArrayAdapter(this@MainActivity, android.R.layout.simple_spinner_dropdown_item,
                listOf("libQnnHtp.so", "libQnnRef.so").filter { File(libraries, it).exists() })
        }
        prompt = EditText(this).apply { id = PROMPT; setText("In the beginning ") }
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
            addView(button("Run") { session.run(chosenLibrary, prompt.text.toString()) })
            addView(button("Stop") { session.stop() })
            addView(times)
            addView(ScrollView(context).apply { addView(output) })
        })
        // A session of the activity before this one, or a new one with what an ended process showed. Android keeps the
        // prompt and the backend, because their views have numbers.
        session = lastNonConfigurationInstance as Session? ?: Session(applicationContext).apply {
            state?.let { restore(it.getString("times", ""), it.getString("output", "")) }
        }
        session.changed = ::show
        show()
    }

    // Kotlin calls it deprecated because of Fragments; an activity without androidx has no other way.
    @Deprecated("An activity without androidx has no other way")
    override fun onRetainNonConfigurationInstance(): Any = session

    override fun onSaveInstanceState(state: Bundle) {
        super.onSaveInstanceState(state)
        state.putString("times", session.times)
        state.putString("output", session.output.takeLast(MOST_SAVED))
    }

    override fun onDestroy() {
        session.changed = { }
        if (!isChangingConfigurations) session.end()
        super.onDestroy()
    }

    override fun onTrimMemory(level: Int) {
        super.onTrimMemory(level)
        if (level >= ComponentCallbacks2.TRIM_MEMORY_BACKGROUND || level == RUNNING_CRITICAL) session.trim()
    }

    @Deprecated("An activity without androidx has no other way")
    override fun onActivityResult(request: Int, result: Int, data: Intent?) {
        session.choose(data?.data ?: return, chosenLibrary)
    }

    private fun button(label: String, action: (View) -> Unit) =
        Button(this).apply { text = label; setOnClickListener(action) }

    private fun show() {
        times.text = session.times
        output.text = session.output
    }

    private companion object {
        const val BACKEND = 1
        const val PROMPT = 2
        const val RUNNING_CRITICAL = 15       // TRIM_MEMORY_RUNNING_CRITICAL, which newer phones no longer send
        const val MOST_SAVED = 50_000         // characters: a saved state has a limit of 1 MB for all apps' parts
    }
}
