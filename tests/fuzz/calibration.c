/* SPDX-License-Identifier: MIT */
/* Calibration files, whole, damaged and made up: what is taken is canonical and within bounds. */
#include <math.h>

#include "fuzz.h"
#include "src/decide/calibration.h"

long fuzz_reached;

static const struct xg_calibration_key key = {.cpu = "A CPU (R) @ 2.00GHz",
                                              .cores = 16,
                                              .threads = 16,
                                              .gpu = "A GPU",
                                              .driver = "580.1",
                                              .blas = "libblas.so.3 1234"};

/* The text of one side, with some bytes changed, taken out or put in. */
static void damage(struct fuzz_bytes *bytes, char text[XG_CALIBRATION_TEXT_BYTES])
{
    while (bytes->left) {
        size_t length = strlen(text), at = fuzz_word(bytes, 2) % (length + 1);
        uint8_t kind = fuzz_byte(bytes), byte = fuzz_byte(bytes);
        if (kind < 90) /* a digit where a digit was, mostly */
            text[at] = at == length                         ? '\0'
                       : text[at] >= '0' && text[at] <= '9' ? "0123456789"[byte % 10]
                                                            : text[at];
        else if (kind < 120)
            text[at] = at == length ? '\0' : (char)byte;
        else if (kind < 160)
            memmove(&text[at], &text[at + (at < length)], length + 1 - at - (at < length));
        else if (kind < 200 && length + 1 < XG_CALIBRATION_TEXT_BYTES) {
            memmove(&text[at + 1], &text[at], length + 1 - at);
            text[at] = (char)(byte ? byte : '0');
        }
    }
}

static bool within(struct xg_model *model, enum xg_side side)
{
    double least, most, *figure;
    for (int i = 0; (figure = xg_calibration_figure(model, side, i, &least, &most)); i++)
        if (!(*figure >= least * (1 - 1e-12) && *figure <= most * (1 + 1e-12)))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    char text[XG_CALIBRATION_TEXT_BYTES], again[XG_CALIBRATION_TEXT_BYTES];
    uint8_t kind = fuzz_byte(&bytes);
    enum xg_side side = kind & 1 ? XG_SIDE_GPU : XG_SIDE_CPU;
    struct xg_model model, before;
    memset(&model, 0, sizeof(model));
    xg_model_init(&model, key.cores);
    size_t length = xg_calibration_print(text, &key, side, &model);
    FUZZ_CHECK(length == strlen(text), "%zu characters", length);
    if (kind < 8)
        fuzz_string(&bytes, text, sizeof(text));
    else
        damage(&bytes, text);
    before = model;
    bool taken = xg_calibration_parse(text, &key, side, &model);
    if (!taken) {
        FUZZ_CHECK(!memcmp(&model, &before, sizeof(model)), "refused, but not left alone");
        return 0;
    }
    fuzz_reached++;
    FUZZ_CHECK(within(&model, side), "a figure is out of bounds:\n%s", text);
    /* What it prints is taken, and says the same. */
    xg_calibration_print(again, &key, side, &model);
    before = model;
    FUZZ_CHECK(xg_calibration_parse(again, &key, side, &model), "its own text:\n%s", again);
    FUZZ_CHECK(!memcmp(&model, &before, sizeof(model)), "its own text means another machine");
    return 0;
}
