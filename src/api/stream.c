/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c: streams of the host machine. */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/stream.h"

int chorusx_stream_create(chorus_stream_t *stream_out)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(__func__, &context));
    if (stream_out == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "chorusx_stream_create: stream_out is null; expected where to put it");
    return ch_stream_create((uint32_t)context->options.ctas, (int)context->boot->me,
                            stream_out);
}

int chorusx_stream_destroy(chorus_stream_t stream)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(__func__, &context));
    ch_stream_destroy(stream);
    return CHORUS_OK;
}

int chorusx_stream_synchronize(chorus_stream_t stream)
{
    struct ch_context *context;

    CH_TRY(ch_context_require(__func__, &context));
    if (stream == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "chorusx_stream_synchronize: stream is null; expected one from "
                       "chorusx_stream_create");
    return ch_stream_synchronize(stream);
}
