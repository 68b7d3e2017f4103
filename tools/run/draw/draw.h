/* draw.h - qnnrt-run: pictures, and the report that shows them

   Needs:   base check cli io model show

   UNITS    svg.c: >>svg                            groups.c: >>groups
            stages.c: >>stages                      cards.c: >>cards
            flow.c: >>flow                          dot.c: >>dot
            arena.c: >>arena                        flame.c: >>flame
            layers.c: >>layers                      html.c: >>html
            html_report.c: >>html_report >>report_verb */
#ifndef RUN_DRAW_DRAW_H
#define RUN_DRAW_DRAW_H

#include "run/show/show.h"

/* ---- settings of verbs ---- */

typedef struct html_report_settings {
    const char *output, *costs;
    int         run;
} html_report_settings;

/* ---- svg.c: texts that fit their place, frame and style of all pictures ---- */

/* PICTURE: the width of a picture, which is that of text in a README. */
enum { PICTURE = 830, MARGIN = 20, PLACE_COLOURS = 4 };

#define LINE_HEIGHT 14.5

size_t columns_in(const char *s);

/* Return the width of a text in the font of a style, and how many columns a width has. */
double text_width(const char *style, const char *s);

size_t text_columns(const char *style, double width);

/* Shorten a name in the middle, where names differ least from each other. Numbers are never
   shortened: see named() and wrapped(). `s` comes from cli_shown(). The caller frees the result. */
char *shortened(const char *s, size_t columns);

/* Return a name and the rest of its line, of which only the name is shortened. The caller frees
   it. */
char *named(const char *name, const char *rest, size_t columns);

/* Return "× 28" behind some blanks for several of a kind, "" for one. The caller frees it. */
char *times_text(const char *before, size_t count);

/* Break a text into lines, at blanks and times signs; longer words are names, and shortened. The
   caller frees the result. */
char *wrapped(const char *s, size_t columns);

/* Write text from cli_shown() as XML. */
void xml_text(page *p, const char *s);

/* Write one line, shortened to a width. style: classes of the style sheet below; `s` comes from
   cli_shown(). A <title> around it has the whole name. */
void svg_text(page *p, double x, double y, const char *style, double width, const char *s);

/* The same for a text that is then freed. */
void svg_take(page *p, double x, double y, const char *style, double width, char *s);

/* Write lines of at most this width. Return the y of a further one. p: NULL: write nothing. */
double svg_lines(page *p, double x, double y, const char *style, double width, const char *s);

/* Draw a rectangle. round: radius of its corners. */
void svg_box(page *p, const char *style, double x, double y, double width, double height,
             double round);

/* Open a box with texts in it; close it with "</g>\n". */
void svg_card(page *p, const char *style, double x, double y, double width, double height,
              double round);

void svg_title(page *p, const char *s);

void title_take(page *p, char *s);

/* Write the style sheet; every selector is below `svg`, because a report has other texts too. */
void svg_style(page *p);

/* Write a picture from y = top on. styled: 0: within a page that has the style. */
void svg_picture(page *p, const page *body, double width, double height, double top, int styled);

void svg_write(tool *t, const char *path, const page *body, double width, double height);

/* Draw the name of a pipeline, and what is said about it in as many lines as it takes. Return the y
   of a further line. */
double draw_head(page *p, double y, const char *name, const char *style, const char *about);

typedef struct legend { double x, y; } legend;       /* where its next colour stands */

/* Draw one colour of a legend, in a new row if this one is full. */
void draw_key(page *p, legend *at, const char *style, const char *label);

/* Return the style of a step in the picture of a mixed pipeline: the colour of its backend, or that
   of its kind. backend: from number_backends() */
const char *place_style(const qnnrt_step_info *step, size_t backend);

/* Draw the legend of a mixed pipeline: its backends, and its other kinds of steps. */
void draw_places(page *p, const qnnrt_pipeline_info *info, legend *at);

/* ---- groups.c: tensors of a step that are drawn as one line ---- */

typedef enum side { SIDE_INPUT, SIDE_EDGE, SIDE_OUTPUT, SIDE_CACHE, SIDES } side;

extern const char *const side_names[SIDES];

typedef struct item {                  /* a tensor that a step reads or writes */
    const qnnrt_tensor_info *tensor;
    const qnnrt_edge_info   *edge;     /* the edge that begins or ends here, or NULL */
    const qnnrt_tensor_info *to;       /* what the edge ends at, or what a cache becomes; or NULL */
    int                      bad;      /* 1: it is why the pipeline is not wired */
    char                    *note;     /* "from step 0", or NULL             */
    char                    *key;      /* items with equal keys form a group */
    size_t                   place;
} item;

typedef struct item_list {
    item  *items;
    size_t count, room;
    /* [group_count + 1] where each begins, after group_items() */
    size_t *groups;
    size_t group_count;
    uint64_t bytes;
} item_list;

/* Return a name with '#' for its first numbers. The caller frees it. */
char *skeleton(const char *name);

/* Make the key of an item again. */
void key_item(item *i);

/* Add an item, which is taken. */
void push_item(item_list *list, item made);

/* Put equal items together, at the place of the first one. */
void group_items(item_list *list);

void free_items(item_list *list);

/* Return "past_key_[8..11]_in" for a group, safe to print. The caller frees it. */
char *group_name(const item *items, size_t count, int to);

/* Tensors of a step, not grouped yet: from the caller or an earlier step, from the step before, to
   the caller or a later step, and caches, which are in and out. */
typedef struct around { item_list lists[SIDES]; } around;

/* Give a note away. */
char *keep_note(char **note);

void look_around(const qnnrt_pipeline_info *info, size_t step, around *out);

/* Return "1x8x48 ufixed16", with times signs. The caller frees it. */
char *shape_text(const qnnrt_tensor_info *tensor);

/* ---- stages.c: what a picture of a pipeline shows together ---- */

typedef struct flow_stage {            /* [count] consecutive steps that are drawn as one      */
    size_t    first, count;
    around    all;                     /* tensors of all its steps                             */
    item_list inner;                   /* edges from one of its steps to the next              */
    int       shares;                  /* 1: it reads inputs of .shared                        */
} flow_stage;

typedef struct stages {
    flow_stage *items;                   /* [count]                                              */
    size_t    count;
    item_list shared;                  /* inputs that several steps read                       */
} stages;

/* Look at a pipeline. free_stages() frees what it returns. */
stages make_stages(const qnnrt_pipeline_info *info);

void free_stages(stages *of);

/* Return the stage of a step. */
size_t stage_of(const stages *of, size_t step);

/* ---- cards.c: the cards of a picture of a pipeline: a list of tensors each ---- */

enum { CARD_GAP = 14, CARD_WIDTH = (PICTURE - 2 * MARGIN - 2 * CARD_GAP) / 3, CARD_LINES = 14,
       BAR_HEIGHT = 52, ARROW = 24, PLACE_COLUMNS = 24, RAIL = MARGIN / 2 };

typedef struct flow {
    page   body;
    double y, width;                   /* next free y; of the whole picture */
    int    columns[SIDES];             /* x of the column of each side      */
} flow;

double card_height(const item_list *list, side which);

/* Draw an arrow down. both: 1: it has two tips. */
void arrow(page *p, double x, double from, double to, int both);

/* Draw an arrow to the right. */
void arrow_right(page *p, double y, double from, double to);

/* Draw a broken line with a cross in its middle. */
void broken(page *p, double x, double from, double to);

/* Draw a card. shared: 1: of inputs that several steps read. */
void draw_card(page *p, double x, double y, const item_list *list, side which, int shared);

/* ---- flow.c: pipelines as a picture (SVG) ---- */

/* Return the name of a stage: of its graph, or "prompt_[2..7]_of_8". The caller frees it. */
char *stage_name(const qnnrt_pipeline_info *info, const flow_stage *m);

/* Return the second line of a graph in so many columns: file and size; for a stage of several what
   is between its steps, if there is room. The caller frees it. */
char *stage_facts(const qnnrt_pipeline_info *info, const flow_stage *m, size_t columns);

/* Draw one pipeline below what is there. */
void draw_flow(flow *f, const qnnrt_pipeline_info *info, int to_right);

void write_flow(tool *t);

/* ---- dot.c: pipelines as a graph for Graphviz ---- */

/* Write a text within quotes, where Graphviz reads escapes and entities. */
void dot_text(page *p, const char *s);

void write_dot(tool *t);

/* ---- arena.c: memory plans as a picture (SVG) ---- */

/* Draw the plan of one pipeline. Return the y below it. */
double draw_arena(page *p, const job *j, double y);

void write_arena(tool *t);

/* ---- flame.c: costs as a picture (SVG) ---- */

typedef struct flame {
    page        body;
    double      y;
    double      scale;                 /* pixels of a microsecond                           */
    cost_lines  operators;             /* of all pipelines, sorted: the first have colours  */
} flame;

/* Draw costs; before: NULL, or those of an earlier profile, drawn to the same scale. */
void draw_flame(flame *f, const costs *all, const costs *before);

void write_flame(tool *t, const costs *all, const costs *before);

/* ---- layers.c: a graph as boxes in layers, with repeated layers drawn once ---- */

typedef struct layer_box {             /* a node; after the nodes inputs and outputs of the graph */
    const char *style;
    int         end;                   /* 1: an input or an output                                */
    char       *head, *name, *title;   /* operator, or type of an end; on hover. From cli_shown() */
    char       *key;                   /* equal for boxes that do the same                        */
    size_t     *reads;                 /* [read_count] boxes                                      */
    size_t      read_count;
    size_t      times;                 /* how many others it stands for                           */
    size_t      layer, row, repeat;    /* repeat: 1 + its index, or 0                             */
    double      x, height;             /* of its middle, from the middle of its row               */
} layer_box;

typedef struct layer_repeat { size_t first, count, times; } layer_repeat;

typedef struct layer_row {
    size_t repeat, column;             /* repeat: as in a box; column: its first row              */
    double x, y, width, height, above, column_width;
} layer_row;

typedef struct layers {
    char         *title, *about;
    layer_box    *items;               /* [nodes] in an order in which they can run; then ends */
    size_t        count, nodes;
    layer_repeat *repeats;             /* [repeat_count], after fold_layers()                  */
    size_t        repeat_count;
    layer_row    *rows;                /* [row_count], after place_layers()                    */
    size_t        row_count;
    double        width, height;
} layers;

/* Leave out nodes that repeat earlier ones, and inputs and outputs of theirs. */
void fold_layers(layers *g);

void place_layers(layers *g);

void draw_layers(page *p, const layers *g, double x, double y);

void free_layers(layers *g);

/* ---- html.c: a page of HTML, made of escaped texts, tables and pictures ---- */

/* Write a text as the content of an element. */
void html_text(page *p, const char *text);

/* Write an element with a text. style: its classes, or NULL */
void html_item(page *p, const char *tag, const char *style, const char *text);

/* Write an element with a text, which is then freed. */
void html_take(page *p, const char *tag, const char *style, char *text);

/* Open a table. heads: its titles, up to NULL, each with ">" before it if the column has numbers */
void html_table(page *p, const char *const *heads);

void html_table_end(page *p);

/* Write a number and what it counts, for the top of the page. Frees the number. */
void html_tile(page *p, char *number, const char *what);

/* Write a picture, whose style the page has. top: what to leave out above */
void html_picture(page *p, const page *body, double width, double height, double top);

/* Begin a page. */
void html_begin(page *p, const char *title);

void html_end(page *p);

/* ---- html_report.c: the verb report, which writes a report of a model as HTML ---- */

int verb_report(void *user);

extern const cli_table html_report_table;

#endif /* RUN_DRAW_DRAW_H */
