//! JSON as the worker writes it: a `serde` serializer into a text, and nothing else.
//!
//! The programs under test are linked with whatever the worker uses. A full JSON library brings comparisons of its
//! own values with numbers and texts into every program, and with them `x == y.into()` becomes ambiguous in code
//! that has never heard of JSON. So the worker writes by itself; only the reader uses `serde_json`.

use serde::ser::{self, Serialize, Serializer};
use std::fmt::{self, Display, Write};

/// A value as one line of JSON.
///
/// # Errors
/// If a `Serialize` implementation reports one of its own.
pub(super) fn to_string(value: &impl Serialize) -> Result<String, Error> {
    let mut out = String::new();
    value.serialize(Writer { out: &mut out })?;
    Ok(out)
}

/// What an implementation of `Serialize` has to say.
#[derive(Debug)]
pub(super) struct Error(String);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Error(message.to_string())
    }
}

/// Writes one value at the end of the text.
struct Writer<'a> {
    out: &'a mut String,
}

impl<'a> Writer<'a> {
    fn display(self, value: impl Display) -> Result<(), Error> {
        Ok(write!(self.out, "{value}")?)
    }

    fn float(self, value: f64) -> Result<(), Error> {
        if value.is_finite() { self.display(value) } else { self.display("null") }
    }

    fn text(self, text: &str) -> Result<(), Error> {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\0'..='\x1f' => {
                    write!(self.out, "\\u{:04x}", u32::from(character))?;
                }
                other => self.out.push(other),
            }
        }
        self.out.push('"');
        Ok(())
    }

    /// A list or a map; with a variant's name, inside an object of one field.
    fn group(self, variant: Option<&str>, open: char, close: &'static str) -> Result<Group<'a>, Error> {
        let mut end = String::from(close);
        if let Some(variant) = variant {
            self.out.push('{');
            Writer { out: self.out }.text(variant)?;
            self.out.push(':');
            end.push('}');
        }
        self.out.push(open);
        Ok(Group { out: self.out, end, first: true })
    }
}

impl From<fmt::Error> for Error {
    fn from(error: fmt::Error) -> Self {
        Error(error.to_string())
    }
}

/// A list or a map that is being written.
struct Group<'a> {
    out: &'a mut String,
    end: String,
    first: bool,
}

impl Group<'_> {
    fn comma(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.comma();
        value.serialize(Writer { out: self.out })
    }

    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.comma();
        let start = self.out.len();
        key.serialize(Writer { out: self.out })?;
        if !self.out[start..].starts_with('"') {
            // Numbers are keys as text.
            self.out.insert(start, '"');
            self.out.push('"');
        }
        self.out.push(':');
        Ok(())
    }

    fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.key(key)?;
        value.serialize(Writer { out: self.out })
    }

    fn close(self) -> Result<(), Error> {
        self.out.push_str(&self.end);
        Ok(())
    }
}

macro_rules! plain {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            self.display(value)
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Group<'a>;
    type SerializeTuple = Group<'a>;
    type SerializeTupleStruct = Group<'a>;
    type SerializeTupleVariant = Group<'a>;
    type SerializeMap = Group<'a>;
    type SerializeStruct = Group<'a>;
    type SerializeStructVariant = Group<'a>;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
           serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
           serialize_u128: u128);

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.float(f64::from(value))
    }
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value)
    }
    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value)
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.display("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.display("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.display("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.text(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Result<(), Error> {
        v.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut group = self.group(None, '{', "}")?;
        group.field(variant, value)?;
        group.close()
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Group<'a>, Error> {
        self.group(None, '[', "]")
    }
    fn serialize_tuple(self, _: usize) -> Result<Group<'a>, Error> {
        self.group(None, '[', "]")
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Group<'a>, Error> {
        self.group(None, '[', "]")
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'a>, Error> {
        self.group(Some(variant), '[', "]")
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Group<'a>, Error> {
        self.group(None, '{', "}")
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Group<'a>, Error> {
        self.group(None, '{', "}")
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Group<'a>, Error> {
        self.group(Some(variant), '{', "}")
    }
}

macro_rules! lists {
    ($($trait:ident :: $method:ident),*) => {
        $(impl ser::$trait for Group<'_> {
            type Ok = ();
            type Error = Error;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Group<'_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(key, value)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Group<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Writer { out: self.out })
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::Value;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(Option<f64>),
        Tuple(i8, char),
        Fields { name: &'static str, list: Vec<u8> },
    }

    #[derive(Serialize)]
    struct Everything {
        shapes: Vec<Shape>,
        map: BTreeMap<u32, (bool, ())>,
        text: String,
        floats: [f64; 3],
        #[serde(flatten)]
        tagged: Tagged,
    }

    #[derive(Serialize)]
    #[serde(tag = "event")]
    enum Tagged {
        Number { value: u64 },
    }

    #[test]
    fn what_is_written_is_what_serde_json_writes() {
        let value = Everything {
            shapes: vec![
                Shape::Unit,
                Shape::Newtype(None),
                Shape::Newtype(Some(0.1)),
                Shape::Tuple(-3, '"'),
                Shape::Fields { name: "a\\b", list: vec![] },
                Shape::Fields { name: "", list: vec![1, 2] },
            ],
            map: [(7, (true, ())), (9, (false, ()))].into(),
            text: "line\nend\t\u{1}\u{7f} ü 🦀 \r".to_owned(),
            floats: [1e300, -0.5, f64::NAN],
            tagged: Tagged::Number { value: u64::MAX },
        };
        let ours: Value = serde_json::from_str(&to_string(&value).unwrap()).unwrap();
        let theirs: Value = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
        assert_eq!(ours, theirs);
    }
}
