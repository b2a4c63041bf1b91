/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_pe.c: what a call of libchorus-apps says when a peer does not make it in time, where
 * CHORUS_TIMEOUT is short: which link and which PE it waits for. PE 1 never makes the call.
 *
 * usage: late_pe halo | moe | coordinator
 */
#include "chorus/apps/coordinator.h"
#include "chorus/apps/halo.h"
#include "chorus/apps/moe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int n_failed;

static void expect_late(int code, const char *part)
{
    if (code == CHORUS_ERR_TIMEOUT && strstr(chorusx_last_error(), part) != NULL) return;
    n_failed++;
    (void)fprintf(stderr, "code %d, \"%s\"; expected \"%s\"\n", code, chorusx_last_error(),
                  part);
}

static void require(int code)
{
    if (code == CHORUS_OK) return;
    (void)fprintf(stderr, "%s\n", chorusx_last_error());
    exit(1);
}

static void quietly(int code, const char *message)
{
    (void)code;
    (void)message;
}

static void wait_for_a_link(int me)
{
    const chorusx_halo_part_t first = {.first = 0, .extent = {1}, .stride = {1}},
                              second = {.first = 1, .extent = {1}, .stride = {1}};
    const chorusx_halo_link_t link = {.peer = 1 - me, .send = first, .recv = second};
    double array[2] = {1, 2};
    chorusx_halo_t halo;

    require(chorusx_halo_create(CHORUS_TEAM_WORLD, 2, sizeof(double), 1, &link, &halo));
    if (me == 0)
        expect_late(
            chorusx_halo_exchange(halo, array),
            "chorusx_halo_exchange: link 0 waits for PE 1 of the job, which has not sent: ");
}

static void wait_for_a_route(int me)
{
    const chorusx_moe_config_t config = {
        .experts = 2, .topk = 1, .tokens_max = 1, .hidden_bytes = 8};
    const int32_t expert = 1;
    chorusx_moe_route_t route;
    chorusx_moe_t moe;

    require(chorusx_moe_create(CHORUS_TEAM_WORLD, &config, &moe));
    if (me == 0)
        expect_late(chorusx_moe_route(moe, &expert, 1, &route),
                    "chorusx_moe_route: waits for PE 1 of the team, which has not sent: ");
}

static void wait_for_a_message(int me)
{
    chorusx_environment_t environment;
    chorusx_coordinator_t coordinator;
    uint64_t *signal;

    require(chorusx_environment_create("chorus", &environment));
    signal =
        chorusx_communicator_malloc(chorusx_environment_world(environment), sizeof(*signal));
    require(chorusx_coordinator_create(chorusx_environment_world(environment),
                                       CHORUSX_LAUNCH_HOST, NULL, &coordinator));
    if (me == 0)
        expect_late(chorusx_coordinator_acknowledge(coordinator, NULL, 0, signal, 1, 1),
                    "chorusx_coordinator_acknowledge: ");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    require(chorus_init());
    (void)chorusx_set_error_handler(quietly);
    if (strcmp(argv[1], "halo") == 0)
        wait_for_a_link(chorus_my_pe());
    else if (strcmp(argv[1], "coordinator") == 0)
        wait_for_a_message(chorus_my_pe());
    else
        wait_for_a_route(chorus_my_pe());
    if (chorus_my_pe() == 0) chorus_global_exit(n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    (void)pause(); /* until PE 0 ends the job */
    return EXIT_FAILURE;
}
