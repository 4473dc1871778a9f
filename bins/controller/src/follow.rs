//! `release --wait`: follows a plan to its end, and ends as it did.

use std::time::Duration;

use names::PlanId;
use tokio::time::{Instant, sleep};
use wire::api::PlanView;

use crate::{
    failure::{Failure, FailureKind},
    folder::Folder,
    frame, news,
    output::Output,
    screen::Screen,
    shown,
    socket::Client,
};

/// How often the plan is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// How long the controller may be away meanwhile: enough for a restart of it.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// Follows the plan, tells what happens, writes how it ended, and fails if it did not end well.
pub(crate) async fn follow(
    client: &mut Client,
    folder: &Folder,
    plan: PlanView,
    output: &Output,
) -> Result<(), Failure> {
    let mut screen = Screen::new(output);
    let mut before = None;
    let mut plan = plan;
    loop {
        for news in news::of_plan(before.as_ref(), &plan) {
            if !(news.is_passing() && screen.is_drawn()) {
                screen.say(&news.line());
            }
        }
        if plan.ended {
            break;
        }
        screen.draw(&frame::plan(&plan));
        sleep(EVERY).await;
        let after = look(client, folder, &plan.plan).await?;
        before = Some(std::mem::replace(&mut plan, after));
    }
    screen.clear();
    output.answer(&plan, shown::plan)?;
    outcome(&plan)
}

/// The plan as it stands. A controller that is away is waited for: the plan goes on when it is back.
async fn look(client: &mut Client, folder: &Folder, id: &PlanId) -> Result<PlanView, Failure> {
    let deadline = Instant::now() + AWAY_MAX;
    loop {
        match client.plan(id.clone()).await {
            Ok(plan) => return Ok(*plan),
            Err(failure)
                if failure.kind == FailureKind::Unreachable && Instant::now() < deadline => {}
            Err(failure) => return Err(failure),
        }
        sleep(EVERY).await;
        if let Ok(again) = Client::connect(folder).await {
            *client = again;
        }
    }
}

fn outcome(plan: &PlanView) -> Result<(), Failure> {
    let id = &plan.plan;
    let kind = match plan.state.as_str() {
        "done" => return Ok(()),
        "failed" | "cannot tell" => FailureKind::GateFailed,
        _ => FailureKind::Failed,
    };
    Err(Failure::new(kind, format!("the plan ended as {}: {}", plan.state, plan.note))
        .hint(format!("look at it: controller plans show {id}"))
        .hint(format!("when the cause is gone: controller plans retry {id}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_plan_that_did_not_end_well_says_so_by_its_exit_status() {
        for (state, status) in
            [("failed", 4), ("cannot tell", 4), ("stopped", 1), ("superseded", 1)]
        {
            let plan = PlanView { state: state.to_owned(), ..samples::plan() };
            assert_eq!(outcome(&plan).unwrap_err().kind.exit_status() as u8, status, "{state}");
        }
        assert_eq!(outcome(&PlanView { state: "done".to_owned(), ..samples::plan() }), Ok(()));
    }
}
