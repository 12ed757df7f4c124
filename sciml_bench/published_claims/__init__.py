"""Published claims, as data, judged by rule."""
