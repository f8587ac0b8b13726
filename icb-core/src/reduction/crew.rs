//! What a search that is cut up and those who do its items for it say to each other.

use super::doing::Done;
use super::partial_order::Item;
use std::sync::Arc;

/// Those who do items elsewhere.
pub trait Crew {
    /// Which items they want to know of when there are new ones.
    fn wants(&mut self) -> Wants {
        Wants::New
    }

    /// Whether the first item of a bound is theirs as well: the search does nothing itself that they can do.
    fn does_everything(&self) -> bool {
        false
    }

    /// These items of a bound wait. The last is needed first, and before all that were offered earlier.
    fn offer(&mut self, bound: u32, items: &[(u64, Item)]);

    /// These extras have been found: whoever finds one again need not do it.
    fn found(&mut self, _keys: &[u128]) {}

    /// What has become of the item that is needed now. May wait a little for it.
    fn look(&mut self, number: u64, item: &Item) -> Look;

    /// The item has come to this.
    fn commit(&mut self, _number: u64, _item: &Item, _done: &Done) {}

    /// What has been done of an item that is to be done here, which is what happens next.
    fn begun(&mut self, _item: &Item) -> Option<Arc<[u8]>> {
        None
    }

    /// What has been done so far of the item that is being done here.
    fn save(&mut self, _item: &Item, _begun: &[u8]) {}

    /// What has become, since this was last asked, of items whose turn has not come, by their keys.
    fn news(&mut self, _tell: &mut dyn FnMut(u128, News<'_>)) {}

    /// All items of the bound have been committed.
    fn end(&mut self) {}

    /// Nothing that was offered is needed any more.
    fn dismiss(&mut self);
}

/// Which items a crew wants to know of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// None: everything is done by the search.
    Nothing,
    /// The new ones.
    New,
    /// All that wait: it has just begun, and knows of none.
    All,
}

/// What is told of an item before its turn.
#[derive(Debug)]
pub enum News<'a> {
    /// It is done.
    Done(&'a Done),
    /// So much of it is done.
    Begun(&'a [u8]),
}

/// What has become of an item.
#[derive(Debug)]
pub enum Look {
    /// It is done.
    Done(Box<Done>),
    /// Somebody is at it, or will be.
    Pending,
    /// It has to be done here.
    Here,
}
