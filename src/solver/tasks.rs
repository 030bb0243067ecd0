//! Tasks: islands spread over threads. Islands share nothing, so the result does not depend on how.

use super::mirror::IslandView;
use bevy::tasks::ComputeTaskPool;

/// Fewer particles than this are not worth a task (a scope costs 3 to 15 µs).
const WORTH_A_TASK: usize = 1_000;

/// Parts of the work a task: waking a thread may take as long as its share of the work.
const PARTS: usize = 4;

/// Calls `work` for each island, on up to `max_tasks` tasks at once.
pub(super) fn for_each_island(
    views: &mut [IslandView<'_>],
    max_tasks: usize,
    work: impl Fn(&mut IslandView<'_>) + Sync,
) {
    let total: usize = views.iter().map(IslandView::len).sum();
    let pool = ComputeTaskPool::try_get();
    // The thread that asks works too: on two cores Bevy's pool has one thread of its own.
    let threads = pool.map_or(1, |pool| pool.thread_num() + 1);
    let tasks = threads.min(max_tasks).min(views.len()).min(total / WORTH_A_TASK).max(1);
    let (Some(pool), true) = (pool, tasks > 1) else {
        views.iter_mut().for_each(work);
        return;
    };
    // Smaller parts than one a task: whoever is awake first works until the others are.
    let share = total.div_ceil(tasks * PARTS);
    let work = &work;
    pool.scope(|scope| {
        let mut rest = views;
        while !rest.is_empty() {
            let (mut count, mut particles) = (0, 0);
            while count < rest.len() && particles < share {
                particles += rest[count].len();
                count += 1;
            }
            let (part, others) = core::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            scope.spawn(async move { part.iter_mut().for_each(work) });
        }
    });
}
