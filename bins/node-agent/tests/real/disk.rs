//! A disk that fills up, or takes no writes any more, under a running engine and before one begins.

use program_test::Disk;
use wire::{DeclareReply, ModuleOutcome, RefusedDeclaration, Trouble, TroubleKind, UnableBecause};

use crate::machine::{B, Bed, Machine, Outcome, eventually, healthy};

fn until_trouble(bed: &Bed, kind: Option<TroubleKind>) -> Outcome {
    let is_so = |troubles: &[Trouble]| match kind {
        Some(kind) => troubles.iter().any(|trouble| trouble.kind == kind),
        None => troubles.is_empty(),
    };
    bed.controller.until_stated("the trouble is as it should be", |stated| {
        is_so(&stated.troubles).then_some(())
    })
}

#[test]
fn on_a_full_disk_nothing_new_is_begun_and_it_goes_on_by_itself_when_there_is_room() -> Outcome {
    let machine = Machine::new()?;
    let Some(disk) = Disk::mount(machine.dir())? else { return Ok(()) };
    let mut bed = Bed::of(machine)?;
    disk.fill()?;
    until_trouble(&bed, Some(TroubleKind::DiskFull))?;
    let b = bed.machine.declaration(2, bed.machine.build(B, "exec sleep 1001")?)?;
    let refused = bed.controller.declare(&b)?;
    let DeclareReply::Refused(RefusedDeclaration::NotKept { why }) = &refused else {
        return Err(format!("{refused:?}").into());
    };
    assert!(why.contains("no space left"), "{why}");
    bed.engine.wait_for_line("error: trouble with this machine (disk-full)")?;
    bed.engine.wait_for_line("warning: declaration 2 is refused: it could not be kept")?;
    bed.a_goes_on()?;
    bed.machine.ask(&["status"])?.ended(0, &["trouble  disk-full"])?;
    bed.machine.ask(&["doctor"])?.ended(1, &["bad     disk"])?;

    // An engine that is killed now cannot open its store, and looks after what runs all the same.
    bed.engine.kill()?;
    bed.start()?;
    bed.engine.wait_for_line("error: the store cannot be opened, and it is tried again")?;
    bed.a_goes_on()?;
    bed.controller.until_stated("no declaration is held", |stated| {
        stated.declaration.is_none().then_some(())
    })?;
    assert!(matches!(bed.controller.declare(&b)?, DeclareReply::Refused(_)));

    disk.empty()?;
    bed.engine.wait_for_line("info: the store is open again")?;
    bed.engine.wait_for_line("declaration 1 is held")?;
    bed.a_goes_on()?;
    until_trouble(&bed, None)?;
    assert_eq!(bed.controller.declare(&b)?, DeclareReply::Taken);
    bed.controller.until_stated("B is healthy", |stated| healthy(stated, B))?;
    Ok(())
}

#[test]
fn a_build_that_has_no_room_is_unable_and_comes_by_itself_when_there_is() -> Outcome {
    let machine = Machine::new()?;
    let Some(disk) = Disk::mount(machine.dir())? else { return Ok(()) };
    let bed = Bed::of(machine)?;
    // Room for the declaration, and none for a build.
    disk.fill_but(12 * 1024 * 1024)?;
    let b = bed.machine.declaration(2, bed.machine.build(B, "exec sleep 1001")?)?;
    assert_eq!(bed.controller.declare(&b)?, DeclareReply::Taken);
    eventually("B is reported unable", || {
        let report = bed.controller.heard().report.clone();
        let is_unable = report.as_ref().is_some_and(|report| {
            report.declaration.0 == 2
                && report.modules.values().all(|module| {
                    matches!(
                        module.outcome,
                        ModuleOutcome::Unable { because: UnableBecause::Disk, .. }
                    )
                })
        });
        Ok(if is_unable { Ok(()) } else { Err(format!("{report:?}")) })
    })?;
    bed.a_goes_on()?;
    disk.empty()?;
    bed.controller.until_stated("B is healthy", |stated| healthy(stated, B))?;
    Ok(())
}

#[test]
fn on_a_read_only_disk_what_runs_is_looked_after_and_it_goes_on_by_itself() -> Outcome {
    let machine = Machine::new()?;
    let Some(disk) = Disk::mount(machine.dir())? else { return Ok(()) };
    let mut bed = Bed::of(machine)?;
    bed.engine.kill()?;
    disk.hide_behind_a_read_only_one()?;
    bed.start()?;
    bed.engine.wait_for_line("error: the store cannot be opened, and it is tried again")?;
    bed.a_goes_on()?;
    until_trouble(&bed, Some(TroubleKind::DiskReadOnly))?;
    let b = bed.machine.declaration(2, bed.machine.build(B, "exec sleep 1001")?)?;
    assert!(matches!(bed.controller.declare(&b)?, DeclareReply::Refused(_)));
    // It cannot be asked, since its socket cannot be made, and that is said.
    bed.engine.wait_for_line("the engine cannot be asked for its status for now")?;
    bed.machine.ask(&["status"])?.ended(5, &["cannot be asked", "blog-1"])?;
    bed.machine.ask(&["logs", "blog-1"])?.ended(0, &["begun"])?;
    bed.machine.ask(&["doctor"])?.ended(1, &["bad     disk", "read-only"])?;

    disk.unhide();
    bed.engine.wait_for_line("info: the store is open again")?;
    until_trouble(&bed, None)?;
    bed.a_goes_on()?;
    assert_eq!(bed.controller.declare(&b)?, DeclareReply::Taken);
    let pid = bed.controller.until_stated("B is healthy", |stated| healthy(stated, B))?;
    assert_ne!(pid, bed.pid);
    Ok(())
}
