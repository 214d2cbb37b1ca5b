/* Legacy IPC: handles that were changed, and processes of other users, open nothing. */
#include "ipc_rig.h"

#include "ipc/wire.h"

enum { NOBODY = 65534 };

static void patient_exporter(int s)
{
    start_cuda();
    CUdeviceptr p = offer(s, SIZE);
    CUipcMemHandle h, same;
    CUdeviceptr own;
    CHECK(cuIpcGetMemHandle(&h, p));
    CHECK(cuIpcGetMemHandle(&same, p + 100));
    EXPECT(!memcmp(&h, &same, sizeof h));
    ANSWERS(cuIpcOpenMemHandle(&own, h, 1), CUDA_ERROR_INVALID_CONTEXT);
    wait_other(s);
    EXPECT_EQUAL(load(p), 7);
}

static void guessing_importer(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUdeviceptr p;
    hear(s, &h, sizeof h);
    for (size_t k = 0; k < sizeof h; k++)
        for (int bit = 0; bit < 8; bit += 3) {
            CUipcMemHandle guess = h;
            guess.reserved[k] ^= (char)(1 << bit);
            ANSWERS(cuIpcOpenMemHandle(&p, guess, 1), CUDA_ERROR_INVALID_VALUE);
        }
    ANSWERS(cuIpcOpenMemHandle(&p, h, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuIpcOpenMemHandle(&p, h, 2), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuIpcOpenMemHandle(&p, h, 1));
    signal_other(s);
}

static void a_handle_with_any_bit_changed_opens_nothing(void **state)
{
    (void)state;
    play(patient_exporter, ENDS_WELL, guessing_importer, ENDS_WELL);
}

static void another_user(int s)
{
    start_cuda();
    CUipcMemHandle h;
    CUipcEventHandle event_handle;
    CUdeviceptr p;
    CUevent e;
    hear(s, &h, sizeof h);
    hear(s, &event_handle, sizeof event_handle);
    EXPECT(!setgid(NOBODY));
    EXPECT(!setuid(NOBODY));
    ANSWERS(cuIpcOpenMemHandle(&p, h, 1), CUDA_ERROR_NOT_PERMITTED);
    ANSWERS(cuIpcOpenEventHandle(&e, event_handle), CUDA_ERROR_NOT_PERMITTED);
    signal_other(s);
}

/* Asks the exporter's socket itself, without the library's own check. */
static void another_user_by_hand(int s)
{
    start_cuda();
    struct ticket ticket;
    struct sockaddr_un address;
    struct ipc_request request = { .verb = IPC_OPEN, .kind = IPC_MEMORY };
    struct ipc_reply reply = { 0 };
    int fd = -1, connection = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    hear(s, &ticket, sizeof ticket);
    hear(s, &(CUipcEventHandle){ 0 }, sizeof(CUipcEventHandle));
    EXPECT(!setgid(NOBODY));
    EXPECT(!setuid(NOBODY));
    memcpy(request.secret, ticket.secret, sizeof request.secret);
    socklen_t length = message_address(ipc_prefix, ticket.socket, &address);
    EXPECT(!connect(connection, (struct sockaddr *)&address, length));
    message_send(connection, &request, sizeof request, -1); /* may find the connection closed already */
    EXPECT(!message_receive(connection, &reply, sizeof reply, &fd) || reply.result == CUDA_ERROR_NOT_PERMITTED);
    EXPECT(fd < 0);
    signal_other(s);
}

static void both_exporter(int s)
{
    start_cuda();
    CUdeviceptr p = offer(s, SIZE);
    offer_event(s);
    wait_other(s);
    EXPECT_EQUAL(load(p), 7);
}

/* Not in every container, though the user is root there. */
static bool can_be_another_user(void)
{
    int status;
    pid_t child = fork();
    if (!child) _exit(setgid(NOBODY) || setuid(NOBODY));
    return waitpid(child, &status, 0) == child && !status;
}

static void another_users_process_opens_nothing(void **state)
{
    (void)state;
    if (!can_be_another_user()) skip();
    play(both_exporter, ENDS_WELL, another_user, ENDS_WELL);
    play(both_exporter, ENDS_WELL, another_user_by_hand, ENDS_WELL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_with_any_bit_changed_opens_nothing),
        cmocka_unit_test(another_users_process_opens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
