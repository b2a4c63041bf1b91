/* SPDX-License-Identifier: Apache-2.0 */
#include "chorus-info.h"

#include "api/context.h"
#include "base/option.h"
#include "base/text.h"
#include "boot/place.h"
#include "coll/reduce.h"
#include "device/device.h"
#include "select/select.h"
#include "team/device.h"
#include "team/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static chorus_status find_name(const char *kind, const char *const names[], size_t count,
                               const char *text, uint32_t *out)
{
    struct ch_reason why;
    size_t index;

    if (!ch_name_find(kind, names, count, text, &index, &why))
        return CH_FAIL(CHORUS_ERR_ARG, "%s", why.text);
    *out = (uint32_t)index;
    return CHORUS_OK;
}

/* The names of rule tables come first, then those in functions of the API, as in
 * chorus-sweep. */
static chorus_status find_type(const char *text, uint32_t *out)
{
    static const struct {
        const char *name;
        chorus_type type;
    } known[] = {
#define X(T, ctype, class, bytes) {#T, CHORUS_TYPE_##T},
        CHORUS_TYPE_LIST(X)
#undef X
#define X(NAME, ctype, type) {#NAME, type},
            CHORUS_REDUCE_ARITHMETIC_TYPES(X)
#undef X
    };
    enum { NAMES = sizeof(known) / sizeof(known[0]) };
    const char *names[NAMES];
    uint32_t index = 0;

    for (size_t i = 0; i < NAMES; i++)
        names[i] = known[i].name;
    CH_TRY(find_name("dtype", names, NAMES, text, &index));
    *out = known[index].type;
    return CHORUS_OK;
}

static chorus_status parse_number(const char *option, const char *text, uint64_t lo,
                                  uint64_t hi, uint64_t *out)
{
    struct ch_number_hint hint;

    if (text == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "explain needs --%s; expected a number from %" PRIu64
                       ", with K, M or G for powers of 1024",
                       option, lo);
    if (!ch_number_bytes(text, lo, hi, out))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "--%s is \"%s\"; expected a number from %" PRIu64
                       ", with K, M or G for powers of 1024%s",
                       option, text, lo, ch_number_hint(text, &hint));
    return CHORUS_OK;
}

/* The GPU of the call: the requested one, otherwise one of this machine, otherwise one without
 * a name. */
static const char *gpu_of(const struct info_args *args, const struct ch_options *options,
                          struct ch_device_id *here)
{
    if (args->gpu != NULL) return args->gpu;
    if (options->heap == CHORUS_HEAP_host ||
        ch_device_find(CH_OPTION_NO_DEVICE, 0, 1, here) != CHORUS_OK)
        return "";
    return here->name;
}

/* As given on the command line, or as in a job of the team's PEs on this host. */
static chorus_status cores_of(const struct info_args *args, uint32_t pes, uint32_t *out)
{
    uint32_t index = pes > ch_place_count_cores();

    if (args->cores != NULL)
        CH_TRY(find_name("cores", ch_cores_names, CH_CORES_COUNT, args->cores, &index));
    *out = 1u << index;
    return CHORUS_OK;
}

/* The hosts of the call's PEs, and the reach that follows from them. Beside each other are GPUs
 * of one host; its groups of GPUs that access each other count as hosts. */
static chorus_status spread(const struct info_args *args, struct ch_request *r)
{
    uint64_t nodes = args->is_beside ? r->pes : 1;

    if (args->nodes != NULL) CH_TRY(parse_number("nodes", args->nodes, 1, UINT32_MAX, &nodes));
    if (nodes > r->pes)
        return CH_FAIL(CHORUS_ERR_ARG, "--nodes is %" PRIu64 "; expected at most --pes, %u",
                       nodes, r->pes);
    r->nodes = (uint32_t)nodes;
    r->reach = nodes > 1    ? (args->is_beside ? CH_REACH_beside : CH_REACH_network)
               : r->pes > 1 ? CH_REACH_mapped
                            : CH_REACH_self;
    return CHORUS_OK;
}

/* CTAs of a call, if the job's sync memory is as large as it may be. */
static uint32_t ctas_of(const struct ch_options *options, const struct ch_request *r,
                        bool is_on_gpu)
{
    const uint32_t usual = is_on_gpu ? CH_CTAS_ON_GPU : CH_CTAS_ON_HOST;
    const uint32_t most = options->ctas != 0 ? (uint32_t)options->ctas : usual;
    const uint32_t pooled = CH_POOL_DUPS_OF(r->pes, r->reach == CH_REACH_network);

    return ch_request_is_in_pool(r) && pooled < most ? pooled : most;
}

/* The machine of the call: PEs on hosts, or GPUs, which need not exist here. GPU links are
 * assumed to keep lines whole. */
static chorus_status place(const struct info_args *args, const struct ch_options *options,
                           struct ch_device_id *here, struct ch_request *r)
{
    static const char *const machines[] = {"host", "cuda"};
    uint32_t machine = 0;

    if (args->machine != NULL)
        CH_TRY(find_name("machine", machines, 2, args->machine, &machine));
    r->machine = machines[machine];
    r->gpu = machine == 1 ? gpu_of(args, options, here) : "";
    r->ctas_max = ctas_of(options, r, machine == 1);
    if (args->is_beside && machine == 0)
        return CH_FAIL(CHORUS_ERR_ARG, "--beside is of GPUs; expected --machine cuda");
    r->ctas_slim = machine == 1 && !ch_request_is_in_pool(r) && r->pes <= CH_DEVICE_PES_MAX
                       ? r->ctas_max
                       : 0;
    r->chunk_bytes = options->chunk * (r->reach == CH_REACH_network ? CH_CHUNK_FAR : 1);
    r->offers = ch_offers(r->type, r->reach,
                          (args->is_in_place ? 0 : CH_NEED_apart) |
                              (args->is_elsewhere ? 0 : CH_NEED_SYMMETRIC));
    if (machine == 1) r->offers = ch_offers_on_gpu(r->pes, r->offers);
    return CHORUS_OK;
}

/* The call that the command line describes. */
static chorus_status request_of(const struct info_args *args, const struct ch_options *options,
                                struct ch_device_id *here, struct ch_request *r)
{
    uint32_t coll, type = CHORUS_TYPE_f32, op = CHORUS_OP_sum;
    uint64_t pes;

    *r = (struct ch_request){0};
    CH_TRY(find_name("collective", ch_coll_names, CHORUS_COLL_COUNT, args->operand, &coll));
    if (args->dtype != NULL) CH_TRY(find_type(args->dtype, &type));
    if (args->op != NULL) CH_TRY(find_name("op", ch_op_names, CHORUS_OP_COUNT, args->op, &op));
    CH_TRY(parse_number("pes", args->pes, 1, UINT32_MAX, &pes));
    r->coll = (chorus_coll)coll;
    r->pes = (uint32_t)pes;
    CH_TRY(spread(args, r));
    r->type = r->coll == CHORUS_COLL_barrier ? CHORUS_TYPE_u8 : (chorus_type)type;
    r->op = (chorus_op)op;
    CH_TRY(cores_of(args, r->pes, &r->cores));
    CH_TRY(place(args, options, here, r));
    if (r->coll == CHORUS_COLL_barrier) return CHORUS_OK;
    CH_TRY(parse_number("bytes", args->bytes, 0, UINT64_MAX, &r->bytes));
    if (r->bytes % ch_type_bytes[type] != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "--bytes is %" PRIu64
                       ", which is not whole %s; expected a multiple of %zu",
                       r->bytes, ch_type_names[type], ch_type_bytes[type]);
    if (!ch_op_takes(r->op, r->type))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "--op %s does not take %s; expected an integer type as --dtype",
                       ch_op_names[op], ch_type_names[type]);
    return CHORUS_OK;
}

chorus_status info_explain(const struct info_args *args)
{
    struct ch_options options;
    struct ch_device_id here; /* request keeps a pointer to its name */
    struct ch_request request;
    struct ch_select *select;
    chorus_status status;

    ch_warn_of_unknown_variables();
    CH_TRY(ch_options_read(&options));
    CH_TRY(request_of(args, &options, &here, &request));
    CH_TRY(ch_select_open(options.algo, options.tuning, &select));
    status = ch_select_explain(select, &request, stdout);
    ch_select_close(select);
    return status;
}

static void print_needs(uint32_t needs)
{
    char text[64] = "";
    size_t used = 0;

#define X(need, bit, meaning)                                              \
    if ((needs & (bit)) != 0)                                              \
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", \
                                 used == 0 ? "" : ",", #need);
    CH_NEED_LIST(X)
#undef X
    (void)printf("%-26s ", text);
}

chorus_status info_algorithms(const struct info_args *args)
{
    (void)args;
    (void)printf("%-13s %-18s %-8s %-26s %-37s %s\n", "coll", "algo", "proto", "needs", "steps",
                 "wire");
    for (size_t i = 0; i < CH_ALGO_COUNT; i++) {
        const struct ch_algo *a = &ch_algos[i];

        (void)printf("%-13s %-18s %-8s ", ch_coll_names[a->coll], a->name,
                     ch_proto_names[a->proto]);
        print_needs(a->needs);
        (void)printf("%-37s %s\n", a->steps_text, a->wire_text);
    }
    (void)printf(
        "# The page algorithms.md (docs/, or share/doc/chorus) explains what each does, when "
        "it is\n# fast, and these formulas, and has a picture of its messages.\n");
    return CHORUS_OK;
}

static void print_option(const struct ch_variable *variable)
{
    const char *const set = secure_getenv(variable->name);
    const char *const initial = variable->initial != NULL ? variable->initial : "";

    (void)printf("%s=%s%s\n    %s\n", variable->name,
                 set != NULL ? ch_variable_shown(variable->name, set) : initial,
                 set != NULL ? "  (from the environment)" : "", variable->text);
}

chorus_status info_options(const struct info_args *args)
{
    struct ch_options options;

    (void)args;
    ch_warn_of_unknown_variables();
    CH_TRY(ch_options_read(&options)); /* refuses an invalid value */
    for (size_t i = 0; i < CH_VARIABLE_COUNT; i++)
        if (ch_variables[i].setter == CH_SETTER_USER) print_option(&ch_variables[i]);
    return CHORUS_OK;
}

static void print_kernels(void)
{
    const char *archs = ch_device_archs();

    (void)printf("kernels: %s\n", archs != NULL ? archs : "none, built without CUDA");
}

static void print_reductions(void)
{
    (void)printf("reductions on hosts: %s\n", ch_reduce_here()->name);
}

/* Is there a GPU here that can run the kernels? */
static chorus_status try_device(struct ch_device_id *id_out)
{
    struct ch_device *device;

    CH_TRY(ch_device_find(CH_OPTION_NO_DEVICE, 0, 1, id_out));
    CH_TRY(ch_device_open(id_out, &device));
    ch_device_close(device);
    return CHORUS_OK;
}

/* Print where the objects of a job started here and now would be, and why. */
static void print_heap(const struct ch_options *options)
{
    struct ch_device_id device;

    if (options->heap == CHORUS_HEAP_host)
        (void)printf("heap: host, because CHORUS_HEAP is host; cuda and auto use GPUs\n");
    else if (try_device(&device) == CHORUS_OK)
        (void)printf("heap: cuda, if every PE has a GPU; the first one's is GPU %d, %s at %s, "
                     "%" PRIu64 " MiB\n",
                     (int)device.ordinal, device.name, device.bus, device.memory_bytes >> 20);
    else if (options->heap == CHORUS_HEAP_cuda)
        (void)printf("heap: none, because CHORUS_HEAP is cuda: %s\n", ch_error_message());
    else
        (void)printf("heap: host: %s\n", ch_error_message());
}

chorus_status info_version(const struct info_args *args)
{
    struct ch_options options;

    (void)args;
    CH_TRY(ch_options_read(&options));
    (void)printf("chorus %s\n", CHORUS_VERSION);
    print_kernels();
    print_reductions();
    print_heap(&options);
    return CHORUS_OK;
}

chorus_status info_check(const struct info_args *args)
{
    struct ch_table *table;
    chorus_status status;

    CH_TRY(ch_table_read(args->operand, &table));
    CH_TRY_GOTO(status, ch_table_check(table), out_table);
    CH_TRY_GOTO(status, info_check_evidence(table), out_table);
    (void)printf("%s: %zu rules for %s, measured %s\n", table->path, table->n_rules,
                 table->machine, table->measured);
    for (uint32_t coll = 0; coll < CHORUS_COLL_COUNT; coll++) {
        size_t rules = 0;

        for (size_t i = 0; i < table->n_rules; i++)
            rules += table->rules[i].coll == coll;
        (void)printf("    %-13s %zu\n", ch_coll_names[coll], rules);
    }

out_table:
    ch_table_free(table);
    return status;
}
