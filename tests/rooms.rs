//! Imports inside the crate go one way, down to up.

use std::{fs, path::Path};

/// Rooms in order; a room may import those before it.
const ROOMS: [&str; 8] =
    ["math", "particle", "constraint", "obstacle", "solver", "recipe", "skin", "interact"];

/// The rooms that the text of a file imports, by `crate::room`.
fn imports(text: &str) -> Vec<&'static str> {
    let text: String = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let mut found = Vec::new();
    for room in ROOMS {
        let named = |separator: &str| text.contains(&format!("crate::{room}{separator}"));
        if named("::") || named(",") || named(";") {
            found.push(room);
        }
    }
    // Grouped: `use crate::{ room::…, … }`.
    for part in text.split("crate::{").skip(1) {
        let mut depth = 1;
        let mut word = String::new();
        for character in part.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && (character.is_alphanumeric() || character == '_') {
                word.push(character);
            } else {
                found.extend(ROOMS.iter().find(|room| depth == 1 && **room == word));
                word.clear();
            }
        }
    }
    found
}

fn check(room: usize, path: &Path) -> usize {
    if path.is_dir() {
        return fs::read_dir(path)
            .expect("a folder")
            .map(|entry| check(room, &entry.expect("an entry").path()))
            .sum();
    }
    let text = fs::read_to_string(path).expect("a text file");
    for imported in imports(&text) {
        let other = ROOMS.iter().position(|r| *r == imported).expect("a room");
        // `obstacle` and `constraint` stand side by side.
        let beside = other == 3 && room == 2;
        assert!(other <= room && !beside, "{} imports {imported}", path.display());
    }
    assert!(!text.contains("use crate::prelude"), "{} imports the prelude", path.display());
    1
}

#[test]
fn rooms_import_only_what_is_below_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for (number, room) in ROOMS.iter().enumerate() {
        for path in [src.join(room), src.join(format!("{room}.rs"))] {
            if path.exists() {
                files += check(number, &path);
            }
        }
    }
    assert!(files > 30, "only {files} files were found");
}

#[test]
fn the_check_sees_plain_and_grouped_imports() {
    assert_eq!(imports("use crate::solver::Stage;"), ["solver"]);
    assert_eq!(
        imports("use crate::{\n    math::pose::Pose,\n    recipe::{Cloth, solver},\n};"),
        ["math", "recipe"]
    );
    assert_eq!(imports("crate::skin::x()"), ["skin"]);
    assert!(imports("// crate::solver::x\nuse bevy::prelude::*;").is_empty());
}
