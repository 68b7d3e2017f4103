# Name each public type whose Javadoc does not say its threads, whose it is, and its errors: an enum its threads alone.
FNR == 1 { said = "" }
/^ *\/\*\*/ { said = "" }
/^ *(\/\*\*|\*)/ { said = said " " $0; next }
/^ *public .*(class|interface|enum) [A-Z]/ {
    words = / enum / ? "Threads" : "Threads Ownership Errors"
    for (i = split(words, word, " "); i > 0; --i)
        if (tolower(said) !~ tolower(word[i]))
            printf "%s:%d: no \"%s:\"\n", FILENAME, FNR, word[i]
}
/[;{]$/ { said = "" }
