/* run.h - qnnrt-run: the options that main.c lists beside those of the folders

   Needs:   base check cli compile draw io measure model show

   UNITS    main.c: >>verbs >>main                  options.c: >>options */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "run/base/base.h"

/* ---- options.c: the options of run, inspect and plan, and those of all verbs ---- */

extern const cli_table model_table;

extern const cli_table common_table;

#endif /* RUN_RUN_H */
