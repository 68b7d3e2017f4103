/* 05_make_model_ranges.h - the ranges of the sample model's activations
   Made by tests/make_ranges.py, which says how: do not edit. { lowest, highest }, real numbers. */
enum {
    RANGE_NORM_1, RANGE_Q, RANGE_K, RANGE_V, RANGE_Q_ROTATED,
    RANGE_K_ROTATED, RANGE_SCORES, RANGE_CONTEXT, RANGE_ATTENTION, RANGE_MIDDLE,
    RANGE_NORM_2, RANGE_GATE, RANGE_UP, RANGE_SILU, RANGE_PRODUCT,
    RANGE_MLP, RANGE_OUT,
    LAYER_RANGES
};
static const float layer_ranges[4][LAYER_RANGES][2] = {
    {                                   /* layer 0 */
        { -3.6908f, 3.8043f },      /* NORM_1 the input, normalized */
        { -1.2275f, 1.1737f },      /* Q queries, already divided by the root of their length */
        { -6.6112f, 7.9194f },      /* K keys */
        { -6.9837f, 5.7315f },      /* V values */
        { -1.3630f, 1.3628f },      /* Q_ROTATED queries with their positions */
        { -8.4682f, 9.9745f },      /* K_ROTATED keys with theirs */
        { -28.5648f, 24.9424f },    /* SCORES query times key */
        { -6.9755f, 5.6584f },      /* CONTEXT values, weighed by the attention */
        { -10.1413f, 10.3357f },    /* ATTENTION what attention adds */
        { -12.0794f, 11.0183f },    /* MIDDLE the input and that */
        { -3.4043f, 2.9480f },      /* NORM_2 their sum, normalized */
        { -4.7897f, 9.6705f },      /* GATE */
        { -10.1954f, 8.3125f },     /* UP */
        { -0.3063f, 9.6691f },      /* SILU gate * sigmoid(gate) */
        { -89.6181f, 58.0553f },    /* PRODUCT silu * up */
        { -41.2659f, 30.0740f },    /* MLP what the perceptron adds */
        { -43.9836f, 31.8895f },    /* OUT the output */
    },
    {                                   /* layer 1 */
        { -3.9285f, 3.4326f },      /* NORM_1 */
        { -1.7776f, 1.2934f },      /* Q */
        { -12.2253f, 13.7759f },    /* K */
        { -8.8672f, 8.4595f },      /* V */
        { -1.6663f, 1.7143f },      /* Q_ROTATED */
        { -14.9433f, 12.0795f },    /* K_ROTATED */
        { -51.7509f, 31.8487f },    /* SCORES */
        { -8.8548f, 8.4592f },      /* CONTEXT */
        { -15.3731f, 15.0569f },    /* ATTENTION */
        { -45.2480f, 33.6870f },    /* MIDDLE */
        { -3.9097f, 3.7089f },      /* NORM_2 */
        { -8.5742f, 10.9400f },     /* GATE */
        { -8.3302f, 12.4747f },     /* UP */
        { -0.3063f, 10.9394f },     /* SILU */
        { -62.0013f, 123.5411f },   /* PRODUCT */
        { -101.0525f, 76.3550f },   /* MLP */
        { -117.2861f, 88.6149f },   /* OUT */
    },
    {                                   /* layer 2 */
        { -4.6704f, 3.9633f },      /* NORM_1 */
        { -1.9769f, 1.5302f },      /* Q */
        { -11.3168f, 12.7898f },    /* K */
        { -9.0530f, 9.7755f },      /* V */
        { -2.0528f, 2.0902f },      /* Q_ROTATED */
        { -13.3986f, 13.2898f },    /* K_ROTATED */
        { -47.1167f, 39.8670f },    /* SCORES */
        { -9.0439f, 8.7333f },      /* CONTEXT */
        { -18.6144f, 21.9476f },    /* ATTENTION */
        { -115.8561f, 85.8978f },   /* MIDDLE */
        { -4.5391f, 4.1631f },      /* NORM_2 */
        { -9.5979f, 10.4395f },     /* GATE */
        { -9.9472f, 10.8177f },     /* UP */
        { -0.3063f, 10.4387f },     /* SILU */
        { -93.5365f, 86.4785f },    /* PRODUCT */
        { -53.5772f, 38.0938f },    /* MLP */
        { -123.6833f, 106.9655f },  /* OUT */
    },
    {                                   /* layer 3 */
        { -4.7451f, 4.2410f },      /* NORM_1 */
        { -1.6625f, 1.8272f },      /* Q */
        { -10.6225f, 12.6892f },    /* K */
        { -11.9572f, 12.0058f },    /* V */
        { -1.6764f, 1.7752f },      /* Q_ROTATED */
        { -11.8291f, 13.2866f },    /* K_ROTATED */
        { -53.4492f, 37.6960f },    /* SCORES */
        { -11.9524f, 12.0045f },    /* CONTEXT */
        { -23.8363f, 24.6064f },    /* ATTENTION */
        { -119.7923f, 107.3443f },  /* MIDDLE */
        { -5.1417f, 4.7943f },      /* NORM_2 */
        { -13.7440f, 13.9130f },    /* GATE */
        { -13.8312f, 15.1103f },    /* UP */
        { -0.3063f, 13.9129f },     /* SILU */
        { -153.1782f, 146.8208f },  /* PRODUCT */
        { -79.4082f, 210.8733f },   /* MLP */
        { -142.2702f, 234.7198f },  /* OUT */
    },
};
enum { RANGE_EMBEDDING, RANGE_NORM, RANGE_LOGITS, MODEL_RANGES };
static const float model_ranges[MODEL_RANGES][2] = {
    { -4.4927f, 4.8470f },      /* EMBEDDING rows of the table of embeddings */
    { -6.2344f, 9.4828f },      /* NORM the last hidden state, normalized */
    { -12.8250f, 14.9531f },    /* LOGITS */
};
