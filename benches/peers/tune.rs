//! Temporary: least times, for tuning on a busy machine.
#[path = "../common/mod.rs"]
mod common;
use bevy::prelude::*;
use bevy_pliant::prelude::*;
use std::time::Instant;
fn least(n: u32, mut f: impl FnMut()) -> f64 {
    (0..n)
        .map(|_| {
            let s = Instant::now();
            f();
            s.elapsed().as_secs_f64()
        })
        .fold(f64::MAX, f64::min)
}
fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let n: u32 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    for (size, k) in
        [(UVec2::new(40, 30), 1000), (UVec2::new(100, 100), 200), (UVec2::new(316, 316), 40)]
    {
        if !which.is_empty() && which != common::name(size) && which != "all" {
            continue;
        }
        let p = common::projections(size) as f64;
        let mut app = common::app_with_cloths(size, 1, 1);
        let mut best = [f64::MAX; 16];
        let t = least(k * n, || {
            app.update();
            let d = app.world().resource::<SolverDiagnostics>();
            best[0] = best[0].min(d.tick.as_secs_f64());
            for (i, t) in bevy_pliant::solver::Stage::ALL.iter().map(|s| d.stage(*s)).enumerate() {
                best[i + 1] = best[i + 1].min(t.as_secs_f64());
            }
        });
        print!(
            "{:8} update {:.3} tick {:.3} ns |",
            common::name(size),
            t * 1e9 / p,
            best[0] * 1e9 / p
        );
        for b in &best[1..] {
            if *b < 1.0 {
                print!(" {:.3}", b * 1e9 / p);
            }
        }
        println!();
        if which != "all" {
            let mut s = common::scalar_aos::ScalarCloth::new(size);
            let t = least(k * n, || s.tick(1.0 / 64.0));
            println!("         scalar {:.3}", t * 1e9 / p);
        }
    }
    if which == "build" || which.is_empty() {
        let size = UVec2::new(100, 100);
        let mut app = common::app(1);
        let (mut a, mut b) = (f64::MAX, f64::MAX);
        let mut st = [f64::MAX; 16];
        for _ in 0..20 * n {
            let s = Instant::now();
            let e = app.world_mut().spawn(common::seed_cloth(size)).id();
            app.update();
            a = a.min(s.elapsed().as_secs_f64());
            let d = app.world().resource::<SolverDiagnostics>();
            for (i, t) in bevy_pliant::solver::Stage::ALL.iter().map(|s| d.stage(*s)).enumerate() {
                st[i] = st[i].min(t.as_secs_f64());
            }
            let s = Instant::now();
            app.world_mut().despawn(e);
            b = b.min(s.elapsed().as_secs_f64());
            app.update();
        }
        println!(
            "build {:.2} ms, despawn {:.2} ms; stages {:.2?}",
            a * 1e3,
            b * 1e3,
            st.map(|s| s * 1e3)
        );
    }
    if which == "tasks" || which.is_empty() {
        for tasks in [1, 2] {
            let mut app = common::app_with_cloths(UVec2::new(40, 30), 30, tasks);
            let mut st = [f64::MAX; 11];
            let t = least(400 * n, || {
                app.update();
                let d = app.world().resource::<SolverDiagnostics>();
                st[10] = st[10].min(d.tick.as_secs_f64() * 1e3);
                for (i, s) in bevy_pliant::solver::Stage::ALL.iter().enumerate() { st[i] = st[i].min(d.stage(*s).as_secs_f64() * 1e3); }
            });
            println!("30 cloths on {tasks}: {:.3} ms, {st:.3?}", 1e3 * t);
        }
    }
}
