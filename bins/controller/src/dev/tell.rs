//! Tells the story: looks at the fleet, says what happened, and takes the next step, until there is none.

use std::time::Duration;

use inventory::{Instances, Target};
use names::{MachineName, ModuleName};
use tokio::time::{Instant, sleep};
use wire::api::{Ask, BuildRef, Pace, PlanView, Run};

use super::{
    chapter::{Chapter, MODULE},
    story::{self, Seen, Step, Told},
};
use crate::{
    builds,
    failure::Failure,
    folder::Folder,
    frame, news,
    output::Output,
    paint::{Line, Tone},
    screen::{Screen, columns},
    socket::Client,
};

/// How often the fleet is looked at.
const EVERY: Duration = Duration::from_millis(200);

/// How long nothing at all may happen. A gate of the sample ends within a minute, whatever its machines do.
const STALLED_MAX: Duration = Duration::from_secs(150);

/// Whoever tells the story: a client of the controller like any other.
#[derive(Debug)]
pub(crate) struct Teller<'a> {
    client: Client,
    folder: &'a Folder,
    fleet: &'a [MachineName],
    module: ModuleName,
    screen: Screen<'a>,
    seen: Option<Seen>,
    began: Instant,
}

impl<'a> Teller<'a> {
    pub(crate) async fn new(
        folder: &'a Folder,
        fleet: &'a [MachineName],
        output: &'a Output,
    ) -> Result<Self, Failure> {
        let module = ModuleName::new(MODULE)
            .map_err(|error| Failure::because("the sample has no name", &error))?;
        let client = Client::connect(folder).await?;
        let screen = Screen::new(output);
        Ok(Self { client, folder, fleet, module, screen, seen: None, began: Instant::now() })
    }

    /// Tells it to its end, or says why it has none.
    pub(crate) async fn tell(&mut self) -> Result<Told, Failure> {
        let told = self.go_on().await;
        self.screen.clear();
        told
    }

    async fn go_on(&mut self) -> Result<Told, Failure> {
        let mut moved = Instant::now();
        loop {
            let seen = self.look().await?;
            if self.say_news(&seen) {
                moved = Instant::now();
            }
            let step = story::next(&seen, self.fleet);
            self.draw(&seen, &step);
            self.seen = Some(seen);
            match step {
                Step::Told(told) => return Ok(*told),
                Step::Broken(how) => {
                    return Err(Failure::failed(how).hint("look at it: controller plans"));
                }
                Step::Wait(what) => {
                    if moved.elapsed() > STALLED_MAX {
                        let what = format!("nothing has happened for a while; wanting is {what}");
                        return Err(Failure::failed(what));
                    }
                    sleep(EVERY).await;
                }
                Step::Register(chapter) => self.register(chapter).await?,
                Step::Assign => {
                    let to = Target::Machines(self.fleet.iter().cloned().collect());
                    let instances = Instances::default();
                    let module = self.module.clone();
                    self.client.ask(Ask::Assign { module, to, instances }).await?;
                }
                Step::Release(chapter, build) => {
                    self.announce(chapter);
                    let build = Some(build.as_str().to_owned());
                    let builds = vec![BuildRef { module: self.module.clone(), build }];
                    let ask = Ask::Release { builds, pace: Pace::InTurn, run: Run::Real };
                    self.client.ask(ask).await?;
                }
                Step::Retry(plan) => {
                    self.client.ask(Ask::Retry { plan }).await?;
                }
            }
        }
    }

    async fn look(&mut self) -> Result<Seen, Failure> {
        let machines = self.client.machines().await?;
        let mut modules = self.client.modules().await?;
        modules.retain(|module| module.module == self.module);
        let mut builds = self.client.builds().await?;
        builds.retain(|build| build.module == self.module);
        let mut plans = self.client.plans().await?;
        plans.retain(|plan| plan.moves.iter().any(|one| one.module == self.module));
        Ok(Seen { machines, module: modules.pop(), builds, plans })
    }

    async fn register(&mut self, chapter: Chapter) -> Result<(), Failure> {
        let source = chapter
            .write(self.folder, self.fleet.len())
            .map_err(|error| Failure::because("the sample's folder cannot be written", &error))?;
        let commit = chapter.commit().parse();
        let commit =
            commit.map_err(|error| Failure::because("the sample has no commit", &error))?;
        let registered = builds::add(self.folder, &mut self.client, &source, Some(commit)).await?;
        let (commit, short) = (&registered.commit, registered.build.short());
        self.say(
            Line::default().and(Tone::Plain, format!("registered {MODULE} {commit} ({short})")),
        );
        Ok(())
    }

    fn announce(&mut self, chapter: Chapter) {
        let what = match chapter {
            Chapter::Good => "a good build is released",
            Chapter::Bad => "a build is released that crashes each time it is started",
        };
        self.say(Line::default().and(Tone::Strong, what));
    }

    /// Says what happened since the last look, and whether anything did.
    fn say_news(&mut self, seen: &Seen) -> bool {
        let before = self.seen.as_ref();
        // The oldest first, as they happened, and what machines do after what they were sent.
        let plans = seen.plans.iter().rev().flat_map(|plan| news_of(plan, before));
        let mut all: Vec<_> = plans.collect();
        let machines_before = before.map_or(&[][..], |before| &before.machines);
        all.extend(news::of_machines(machines_before, &seen.machines));
        for news in &all {
            if !(news.is_passing() && self.screen.is_drawn()) {
                self.say(news.line());
            }
        }
        !all.is_empty()
    }

    fn say(&mut self, line: Line) {
        let at = format!("{:>5.1} s  ", self.began.elapsed().as_secs_f32());
        let stamp = Line::default().and(Tone::Faint, at);
        self.screen.say(&stamp.followed_by(line));
    }

    fn draw(&mut self, seen: &Seen, step: &Step) {
        let mut picture = vec![Line::default()];
        picture.extend(frame::machines(&seen.machines, columns()));
        match (seen.plans.iter().find(|plan| !plan.ended), step) {
            (Some(plan), _) => picture.extend(frame::plan(plan)),
            (None, Step::Wait(what)) => {
                picture.push(Line::default().and(Tone::Faint, "waits  ").and(Tone::Plain, what));
            }
            (None, _) => {}
        }
        self.screen.draw(&picture);
    }
}

/// What is new about a plan. One that had ended before the first look is old.
fn news_of(plan: &PlanView, before: Option<&Seen>) -> Vec<news::News> {
    match before {
        None if plan.ended => Vec::new(),
        None => news::of_plan(None, plan),
        Some(before) => news::of_plan(before.plans.iter().find(|one| one.plan == plan.plan), plan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn what_had_ended_before_the_first_look_is_no_news() {
        assert_eq!(news_of(&samples::failed(), None), []);
        assert!(!news_of(&samples::judging(0, &[]), None).is_empty());
        assert!(!news_of(&samples::failed(), Some(&Seen::default())).is_empty());
    }
}
