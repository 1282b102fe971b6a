"""Files, texts and messages: what every room stands on."""
