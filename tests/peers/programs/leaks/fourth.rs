/* usage: fourth_rs CASE, by suspects.sh

   Like fourth.c, in Rust.

   leak intern: fourth::intern::Table::add  strings are interned for ever
   leak cycle: fourth::tree::attach    a child keeps its parent, its parent the child
   leak pump: fourth::pump::send_all   a thread's messages that are never received (threads)
   leak grow: fourth::alloc::grow      a module of the program called alloc (over 90 %) */
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

extern "C" { fn dump_from_rust(); }
static LOST: AtomicU64 = AtomicU64::new(0);
fn lose(n: usize) { LOST.fetch_add(n as u64, SeqCst); }

mod intern {
    pub struct Table;
    impl Table {
        #[inline(never)]
        pub fn add(i: usize) -> &'static mut [u8] { super::lose(60 + i % 70); Box::leak(vec![b'x'; 60 + i % 70].into_boxed_slice()) }
    }
}
mod tree {
    use super::*;
    pub struct Node { pub up: RefCell<Option<Rc<Node>>>, pub text: [u8; 200] }
    #[inline(never)]
    pub fn attach() {
        let a = Rc::new(Node { up: RefCell::new(None), text: [1; 200] });
        *a.up.borrow_mut() = Some(a.clone());
        lose(std::mem::size_of::<Node>() + 16);
    }
}
mod pump {
    use std::sync::Mutex;
    pub static WAITING: Mutex<Vec<Box<[u8; 300]>>> = Mutex::new(Vec::new());
    #[inline(never)]
    pub fn send_all(n: usize) { for i in 0..n { let message = Box::new([i as u8; 300]); super::lose(300); std::mem::forget(std::hint::black_box(message)); } }
}
mod alloc {
    #[inline(never)]
    pub fn grow(i: usize) { let v: Vec<u8> = Vec::with_capacity(3000 + i % 100); super::lose(v.capacity()); std::mem::forget(v); }
}

fn honest(history: &mut std::collections::VecDeque<String>, i: usize) {
    history.push_back("h".repeat(40 + i % 80));
    if history.len() > 300 { history.pop_front(); }
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let settings: Vec<String> = (0..if case == "grow" { 100 } else { 1500 }).map(|i| "s".repeat(30 + i % 60)).collect();
    let mut history = std::collections::VecDeque::new();
    for i in 0..6000usize {
        honest(&mut history, i);
        match case.as_str() {
            "intern" => { if i % 2 == 0 { intern::Table::add(i)[0] = 1; } }
            "cycle" => tree::attach(),
            "pump" => { if i % 100 == 0 { let t = std::thread::spawn(|| pump::send_all(40)); t.join().unwrap(); } }
            "grow" => alloc::grow(i),
            _ => std::process::exit(2),
        }
        if i % 2000 == 1999 {
            println!("leaked {}", LOST.load(SeqCst));
            unsafe { dump_from_rust() };
        }
    }
    if settings.len() == 1 { println!("{}", settings[0]); }
}
