// SPDX-License-Identifier: BSD-3-Clause
// Declares all models. The model NAME is defined in models/NAME.cc, and the comment at the top of that file explains
// it.
#pragma once

#include <models/model_table.h>

namespace peal::models {

Result<void> blocking_single(ModelRun& run);
Result<void> blocking_process_per_connection(ModelRun& run);
Result<void> blocking_thread_per_connection(ModelRun& run);
Result<void> blocking_process_pool_one_listener(ModelRun& run);
Result<void> blocking_process_pool_own_listeners(ModelRun& run);
Result<void> blocking_thread_pool_own_listeners(ModelRun& run);
Result<void> blocking_leader_follower(ModelRun& run);
Result<void> trigger_select(ModelRun& run);
Result<void> trigger_poll(ModelRun& run);
Result<void> trigger_epoll(ModelRun& run);
Result<void> reactor_select(ModelRun& run);
Result<void> reactor_poll(ModelRun& run);
Result<void> reactor_epoll(ModelRun& run);
Result<void> reactor_epoll_edge(ModelRun& run);
Result<void> reactor_thread_pool(ModelRun& run);
Result<void> coroutine_stackful(ModelRun& run);
Result<void> coroutine_stackless(ModelRun& run);
Result<void> coroutine_process_pool(ModelRun& run);
Result<void> coroutine_process_pool_stackless(ModelRun& run);
Result<void> coroutine_channel(ModelRun& run);
Result<void> coroutine_channel_stackless(ModelRun& run);
Result<void> coroutine_condition(ModelRun& run);
Result<void> coroutine_condition_stackless(ModelRun& run);
Result<void> half_sync_unbounded_queue(ModelRun& run);
Result<void> half_sync_bounded_queue(ModelRun& run);
Result<void> main_sub_threads(ModelRun& run);
Result<void> main_sub_processes(ModelRun& run);
Result<void> io_busy_polling(ModelRun& run);
Result<void> io_signal_driven(ModelRun& run);
Result<void> io_uring_receive_each(ModelRun& run);
Result<void> io_uring_multishot(ModelRun& run);
Result<void> libio_reactor(ModelRun& run);
Result<void> libio_accept_thread(ModelRun& run);
Result<void> libio_master_workers(ModelRun& run);
Result<void> libio_proactor(ModelRun& run);
Result<void> peal_callbacks(ModelRun& run);
Result<void> peal_coroutines(ModelRun& run);

}  // namespace peal::models
