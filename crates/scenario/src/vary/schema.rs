//! Adds the forms of drawn values to the JSON Schema of the format.

use serde_json::{Value as Json, json};

const NAME: &str = "Drawn";

/// The `schema` with a distribution allowed in place of every value but the seed and the kinds.
pub(crate) fn with_distributions(mut schema: Json) -> Json {
    allow_below(&mut schema);
    if let Some(seed) = schema.pointer_mut("/properties/seed") {
        *seed = json!({ "anyOf": [seed["anyOf"][0]], "description": seed["description"] });
    }
    if let Some(definitions) = schema.get_mut("$defs").and_then(Json::as_object_mut) {
        definitions.insert(NAME.to_owned(), drawn());
    }
    schema
}

fn allow_below(schema: &mut Json) {
    match schema {
        Json::Array(items) => items.iter_mut().for_each(allow_below),
        Json::Object(words) => {
            words.values_mut().for_each(allow_below);
            if let Some(Json::Object(fields)) = words.get_mut("properties") {
                fields.values_mut().filter(|field| field.get("const").is_none()).for_each(allow);
            }
            if let Some(item) = words.get_mut("items") {
                allow(item);
            }
        }
        _ => {}
    }
}

fn allow(value: &mut Json) {
    let description = value.as_object_mut().and_then(|words| words.remove("description"));
    *value = json!({ "anyOf": [value.take(), { "$ref": format!("#/$defs/{NAME}") }] });
    if let Some(description) = description {
        value["description"] = description;
    }
}

fn drawn() -> Json {
    let ends = json!({ "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": ["number", "string"] } });
    let only = |word: &str, content: Json, description: &str| {
        json!({
            "type": "object",
            "description": description,
            "properties": { word: content },
            "required": [word],
            "additionalProperties": false,
        })
    };
    json!({
        "description": "A value that the seed draws, once for the scenario.",
        "anyOf": [
            only("uniform", ends.clone(), "From the first number to the second, each as likely."),
            only("log_uniform", ends, "From the first number to the second, with a uniform logarithm."),
            only("choice", json!({ "type": "array", "minItems": 1 }), "One of these, each as likely."),
        ],
    })
}
