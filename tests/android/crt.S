/* What the linker puts first into a program (PROGRAM) or a library for Android, in place of the NDK's
   crtbegin_dynamic.o and crtbegin_so.o: the entry, the handle of the object, and the note with the API level. For
   tests only: what is made for a phone takes the NDK's. */

#ifdef PROGRAM
    .text
    .globl  _start
    .type   _start, %function
_start:
    mov     x29, #0
    mov     x30, #0
    mov     x0, sp                      /* argc, argv, environment */
    mov     x1, #0
    adrp    x2, main
    add     x2, x2, :lo12:main
    adrp    x3, nothing_to_call
    add     x3, x3, :lo12:nothing_to_call
    b       __libc_init

    .section .rodata
    .balign 8
nothing_to_call:                        /* functions to call before and after main */
    .xword  0, 0, 0, 0
#endif

    .text
    .globl  atexit
    .hidden atexit
    .type   atexit, %function
atexit:
    mov     x1, #0
    adrp    x2, __dso_handle
    add     x2, x2, :lo12:__dso_handle
    b       __cxa_atexit

    .data
    .balign 8
    .globl  __dso_handle
    .hidden __dso_handle
__dso_handle:
#ifdef PROGRAM
    .xword  0
#else
    .xword  __dso_handle
#endif

    .section .note.android.ident, "a", %note
    .balign 4
    .long   8, 4, 1
    .asciz  "Android"
    .long   API

    .section .note.GNU-stack, "", %progbits
