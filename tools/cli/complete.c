/* complete.c - --completion, from the tables of a program

   ROOM     >>completion */
#include "cli/cli.h"

/* =====================================================================================
   COMPLETION                                                                 >>completion
   A script for each shell: verbs, the options of each verb, words of options, and file names.
   ===================================================================================== */

const char *const cli_shells[] = {"bash", "zsh", "fish", NULL};

/* Return the words that an option takes, separated by blanks; "" if it takes no words. The caller
   frees it. */
static char *cli_value_words(const cli_option *o)
{
    const char *presets[CLI_MOST_PRESETS];
    const char *const *words = o->words;
    if (o->kind == CLI_LEVEL) return cli_text("off error warn info verbose debug");
    if (o->kind == CLI_COMPLETION) words = cli_shells;
    if (o->kind == CLI_POWER) cli_presets(presets);
    if (o->kind == CLI_POWER) words = presets;
    char *all = cli_text("%s", words != NULL ? words[0] : "");
    for (size_t i = 1; words != NULL && words[i] != NULL; ++i) {
        char *longer = cli_text("%s %s", all, words[i]);
        free(all);
        all = longer;
    }
    return all;
}

/* True if the value of an option names a file or a folder. */
static int cli_is_file(const cli_option *o)
{
    return strstr(o->value, "FILE") != NULL || strstr(o->value, "PATH") != NULL ||
           strstr(o->value, "LIST") != NULL || strstr(o->value, "DIR") != NULL;
}

/* Print a text between single quotes, with `escaped` after a backslash: fish knows \' and zsh's
   _arguments reads \[ \] \: itself. */
static void cli_quoted(FILE *out, const char *text, const char *escaped)
{
    fputc('\'', out);
    for (; *text != '\0'; ++text) {
        if (*text == '\'' && strchr(escaped, '\'') == NULL) fputs("'\\'", out);
        else if (strchr(escaped, *text) != NULL) fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('\'', out);
}

/* Return the first part of a help, which fits into a line of a menu. The caller frees it. */
static char *cli_short_help(const char *help)
{
    enum { MOST = 72 };
    size_t bytes = strcspn(help, ";(");
    const char *stop = strstr(help, ". ");
    if (stop != NULL && (size_t)(stop - help) < bytes) bytes = (size_t)(stop - help);
    while (bytes > MOST) {
        size_t blank = bytes - 1;
        while (blank > 0 && help[blank] != ' ') --blank;
        bytes = blank > 0 ? blank : MOST;
    }
    while (bytes > 0 && strchr(" .:,", help[bytes - 1]) != NULL) --bytes;
    return cli_text("%.*s", (int)bytes, help);
}

/* Return the name of the shell's function: '-' becomes '_'. The caller frees it. */
static char *cli_function(void)
{
    char *name = cli_text("_%s", cli_name);
    for (char *c = name; *c != '\0'; ++c)
        if (*c == '-') *c = '_';
    return name;
}

/* ---- bash ---- */

/* Print the cases of one verb: the words of each option, then all options. */
static void cli_bash_verb(FILE *out, const cli_program *p, const char *verb, unsigned lists)
{
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i) {
        if (!cli_is_listed(o, lists) || o->value == NULL) continue;
        OWNED char *words = cli_value_words(o);
        fprintf(out, "    %s:--%s", verb, o->name);
        if (o->alias != NULL) fprintf(out, "|%s:--%s", verb, o->alias);
        if (words[0] != '\0') fprintf(out, ") words='%s' ;;\n", words);
        else fprintf(out, ") files=%d ;;\n", cli_is_file(o));
    }
    fprintf(out, "    %s:*) words='", verb);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i)
        if (cli_is_listed(o, lists)) fprintf(out, "--%s ", o->name);
    fputs("' option=1 ;;\n", out);
}

/* bash breaks words at '=', and names files itself where the function offers nothing. */
static void cli_bash(FILE *out, const cli_program *p)
{
    OWNED char *name = cli_function();
    fprintf(out, "# completion of %s for bash, made by %s --completion bash\n"
            "%s() {\n"
            "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    local verb=%s words= files=1 option=0\n"
            "    if [ \"$now\" = = ]; then now=\n"
            "    elif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}\n"
            "    fi\n"
            "    COMPREPLY=()\n", cli_name, cli_name, name,
            p->verb_count > 0 ? p->verbs[0].name : "all");
    if (p->verb_count > 0) {
        fputs("    local verbs='", out);
        for (size_t i = 0; i < p->verb_count; ++i) fprintf(out, "%s ", p->verbs[i].name);
        fputs("'\n"
              "    if [ \"$COMP_CWORD\" -eq 1 ] && [ \"${now#-}\" = \"$now\" ]; then\n"
              "        COMPREPLY=($(compgen -W \"$verbs\" -- \"$now\"))\n"
              "        return\n"
              "    fi\n"
              "    case \" $verbs\" in *\" ${COMP_WORDS[1]} \"*) verb=${COMP_WORDS[1]} ;; esac\n",
              out);
    }
    fputs("    case $verb:$before in\n", out);
    for (size_t i = 0; i < p->verb_count; ++i)
        cli_bash_verb(out, p, p->verbs[i].name, p->verbs[i].lists);
    if (p->verb_count == 0) cli_bash_verb(out, p, "all", 0);
    fprintf(out, "    esac\n"
            "    if [ $option = 1 ] && [ \"${now#-}\" = \"$now\" ]; then return; fi\n"
            "    if [ -n \"$words\" ]; then\n"
            "        COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
            "    elif [ $files = 0 ]; then\n"
            "        compopt +o default 2>/dev/null\n"
            "    fi\n"
            "}\n"
            "complete -o default -F %s %s\n", name, cli_name);
}

/* ---- zsh ---- */

/* Print a specification for _arguments: '*--name=[help]:value:action'. */
static void cli_zsh_option(FILE *out, const cli_option *o, const char *name)
{
    OWNED char *help = cli_short_help(o->help);
    OWNED char *words = o->value != NULL ? cli_value_words(o) : NULL;
    const int repeat = o->kind == CLI_LIST || o->repeat;
    OWNED char *before = cli_text("%s--%s%s", repeat ? "*" : "", name, words != NULL ? "=" : "");
    fputs("            ", out);
    cli_quoted(out, before, "");
    fputs("'['", out);
    cli_quoted(out, help, "[]\\");
    fputs("']'", out);
    if (words != NULL) {
        fputc(':', out);
        cli_quoted(out, o->value, "[]:\\");
        if (words[0] != '\0') fprintf(out, "':(%s)'", words);
        else fputs(cli_is_file(o) ? "':_files'" : "': '", out);
    }
    fputs(" \\\n", out);
}

static void cli_zsh_verb(FILE *out, const cli_program *p, unsigned lists, int files)
{
    const cli_option *o;
    fputs("        _arguments \\\n", out);
    for (size_t i = 0; (o = cli_option_at(p, i)) != NULL; ++i) {
        if (!cli_is_listed(o, lists)) continue;
        cli_zsh_option(out, o, o->name);
        if (o->alias != NULL) cli_zsh_option(out, o, o->alias);
    }
    fputs(files ? "            '*:file:_files'\n" : "            '*: : '\n", out);
}

static void cli_zsh(FILE *out, const cli_program *p)
{
    OWNED char *name = cli_function();
    fprintf(out, "#compdef %s\n"
            "# completion of %s for zsh, made by %s --completion zsh\n"
            "%s() {\n", cli_name, cli_name, cli_name, name);
    if (p->verb_count > 0) {
        fputs("    local -a verbs\n    verbs=(\n", out);
        for (size_t i = 0; i < p->verb_count; ++i) {
            OWNED char *help = cli_short_help(p->verbs[i].summary);
            OWNED char *line = cli_text("%s:%s", p->verbs[i].name, help);
            fputs("        ", out);
            cli_quoted(out, line, "");
            fputc('\n', out);
        }
        fputs("    )\n"
              "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
              "        _describe verb verbs\n"
              "        return\n"
              "    fi\n"
              "    local verb=$words[2]\n"
              "    if [[ $verb != -* ]]; then shift words; (( CURRENT-- )); fi\n"
              "    case $verb in\n", out);
    }
    for (size_t i = 1; i < p->verb_count; ++i) {
        fprintf(out, "    %s)\n", p->verbs[i].name);
        cli_zsh_verb(out, p, p->verbs[i].lists, !p->verbs[i].raw);
        fputs("        ;;\n", out);
    }
    if (p->verb_count > 0) fputs("    *)\n", out);
    cli_zsh_verb(out, p, p->verb_count > 0 ? p->verbs[0].lists : 0, p->verb_count > 0);
    if (p->verb_count > 0) fputs("        ;;\n    esac\n", out);
    /* Without the last line it is for fpath, where zsh calls the file itself. */
    fprintf(out, "}\n"
            "if [ \"$funcstack[1]\" = %s ]; then %s \"$@\"; else compdef %s %s; fi\n",
            name, name, name, cli_name);
}

/* ---- fish ---- */

static void cli_fish_option(FILE *out, const cli_option *o, const char *when)
{
    OWNED char *help = cli_short_help(o->help);
    OWNED char *words = o->value != NULL ? cli_value_words(o) : NULL;
    fprintf(out, "complete -c %s %s-l %s", cli_name, when, o->name);
    if (words != NULL && words[0] != '\0') fprintf(out, " -x -a '%s'", words);
    else if (words != NULL) fputs(cli_is_file(o) ? " -r -F" : " -x", out);
    fputs(" -d ", out);
    cli_quoted(out, help, "\\'");
    fputc('\n', out);
}

static void cli_fish(FILE *out, const cli_program *p)
{
    const cli_option *o;
    fprintf(out, "# completion of %s for fish, made by %s --completion fish\n", cli_name, cli_name);
    for (size_t i = 0; i < p->verb_count; ++i) {
        const cli_verb *v = &p->verbs[i];
        OWNED char *help = cli_short_help(v->summary);
        fprintf(out, "complete -c %s -n __fish_use_subcommand -f -a %s -d ", cli_name, v->name);
        cli_quoted(out, help, "\\'");
        fputc('\n', out);
        OWNED char *when = cli_text("-n '__fish_seen_subcommand_from %s' ", v->name);
        for (size_t k = 0; (o = cli_option_at(p, k)) != NULL; ++k)
            if ((o->verbs & v->lists) != 0) cli_fish_option(out, o, when);
    }
    for (size_t k = 0; (o = cli_option_at(p, k)) != NULL; ++k)
        if (o->verbs == 0) cli_fish_option(out, o, "");
}

void cli_completion(FILE *out, const cli_program *p, const char *shell)
{
    static void (*const makers[])(FILE *, const cli_program *) = {cli_bash, cli_zsh, cli_fish};
    makers[cli_word(shell, cli_shells)](out, p);
}
