//! Rows a: the bytes of an item and its signature line.

use crate::world::{MARKER_PY, MARKER_SH, World};

#[test]
fn a07_a_removed_line_is_unsigned() {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.works("tool:acme/mark");
    std::fs::write(&file, MARKER_SH).unwrap();
    world.refused("tool:acme/mark", "verify.unsigned", 4);
    let file = world.signed(".ai/tools/acme/snake.py", MARKER_PY);
    world.works("tool:acme/snake");
    std::fs::write(&file, MARKER_PY).unwrap();
    world.refused("tool:acme/snake", "verify.unsigned", 4);
}
