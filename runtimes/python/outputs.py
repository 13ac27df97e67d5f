"""Values, images and tables: records on the outputs pipe.

A record is u32 kind (1: text of the run's value, 2: something to show), u32 length of the MIME type, u32
length of the data, little-endian, then both. Whatever goes wrong in here, the run goes on and ends as it
would have without.
"""

import os
import sys
import _thread

RESULT, DISPLAY = 1, 2
TEXT_BYTES_MAX = 64 << 10
# More than this is not put into an answer: it becomes a file, and the record says which.
INLINE_BYTES_MAX = 1 << 20

HOOKS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_json_", "application/json"),
)
SUFFIXES = {
    "text/html": "html",
    "text/markdown": "md",
    "text/latex": "tex",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "application/json": "json",
}


class Outputs:
    def __init__(self, fd, directory):
        self.fd = fd
        self.directory = directory
        self.lock = _thread.allocate_lock()

    def result(self, value):
        """The value of the program's last expression."""
        shown = self.representations(value)
        if text := cut(shown.pop("text/plain", None) or text_of(value)):
            self.send(RESULT, "text/plain", text)
        for mime, data in shown.items():
            self.show(mime, data)

    def display(self, objects, raw=False):
        for value in objects:
            if raw and isinstance(value, dict):
                shown = encoded(value)
            else:
                shown = self.representations(value)
                # Text says nothing of an image, but a reader without HTML wants a table as text.
                if not any(mime.startswith("image/") for mime in shown):
                    shown.setdefault("text/plain", cut(text_of(value)))
            for mime, data in shown.items():
                if data:
                    self.show(mime, data)

    def figures(self):
        """Every open figure of pyplot; closes them, so that each is shown once."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        try:
            numbers = pyplot.get_fignums()
        except Exception:
            return
        for number in numbers:
            try:
                figure = pyplot.figure(number)
                if figure.axes or figure.texts or figure.images or figure.lines:
                    self.show("image/png", png_of_figure(figure))
            except Exception:
                pass
            finally:
                pyplot.close(number)

    def representations(self, value):
        """MIME type to data, of all that the value says of itself beside repr()."""
        kind = type(value)
        if issubclass(kind, type):
            return {}  # the hooks of a class speak for its instances
        try:
            if special := special_case(value):
                return encoded(special)
        except Exception:
            pass
        shown = {}
        # Asked of the type, because an object that answers to every name (a mock, a proxy) has no hooks.
        for name, mime in HOOKS:
            if getattr(kind, name, None) is not None:
                shown[mime] = call(value, name)
        if getattr(kind, "_repr_mimebundle_", None) is not None:
            bundle = call(value, "_repr_mimebundle_")
            if isinstance(bundle, dict):
                shown.update(bundle)
        return encoded(shown)

    def show(self, mime, data):
        if len(data) > INLINE_BYTES_MAX:
            try:
                name = self.save(mime, data)
            except OSError as error:
                data = f"{mime} of {len(data)} bytes was too large to show and could not be saved: {error.strerror}"
            else:
                data = f"{mime} of {len(data)} bytes saved as {name}"
            mime, data = "text/plain", data.encode()
        self.send(DISPLAY, mime, data)

    def save(self, mime, data):
        stem = "figure" if mime.startswith("image/") else "output"
        for number in range(1, 10000):
            name = f"{stem}-{number}.{SUFFIXES.get(mime, 'txt')}"
            try:
                with open(os.path.join(self.directory, name), "xb") as file:
                    file.write(data)
            except FileExistsError:
                continue
            return name
        raise FileExistsError(17, "too many files of that name")

    def send(self, kind, mime, data):
        mime = mime.encode("utf-8", "replace")
        record = b"".join(n.to_bytes(4, "little") for n in (kind, len(mime), len(data))) + mime + data
        with self.lock:
            at = 0
            try:
                while at < len(record):
                    at += os.write(self.fd, memoryview(record)[at:])
            except OSError:
                pass  # nobody reads it


def text_of(value):
    """repr() as UTF-8; nothing if it fails."""
    try:
        if type(value) in (str, bytes, bytearray, list, tuple) and len(value) > TEXT_BYTES_MAX:
            value = value[:TEXT_BYTES_MAX]  # the repr of all of it may not fit in memory
        return repr(value).encode("utf-8", "backslashreplace")
    except BaseException:
        return b""


def cut(text):
    if len(text) <= TEXT_BYTES_MAX:
        return text
    return text[: TEXT_BYTES_MAX - 3].decode("utf-8", "ignore").encode() + b"..."


def call(value, name):
    try:
        data = getattr(value, name)()
    except Exception:
        return None
    return data[0] if isinstance(data, tuple) and data else data  # (data, metadata)


def encoded(shown):
    """Only what can be sent, as bytes: images come raw or as base64, the rest is text or JSON."""
    result = {}
    for mime, data in shown.items():
        try:
            if mime == "application/json" or mime.endswith("+json"):
                if not isinstance(data, (str, bytes, type(None))):
                    import json

                    data = json.dumps(data)
            if isinstance(data, str):
                if mime.startswith("image/") and mime != "image/svg+xml":
                    import binascii

                    data = binascii.a2b_base64(data)
                else:
                    data = data.encode("utf-8", "backslashreplace")
            if isinstance(mime, str) and isinstance(data, (bytes, bytearray, memoryview)) and data:
                result[mime] = bytes(data)
        except Exception:
            pass
    return result


def special_case(value):
    """Libraries that leave it to notebooks to know them. None: not one of these."""
    modules = sys.modules
    if (figure := modules.get("matplotlib.figure")) and isinstance(value, figure.Figure):
        png = png_of_figure(value)
        if pyplot := modules.get("matplotlib.pyplot"):
            pyplot.close(value)
        return {"image/png": png}
    if (pil := modules.get("PIL.Image")) and isinstance(value, pil.Image):
        return {"image/png": png_of_image(value)}
    if (pandas := modules.get("pandas")) and isinstance(value, pandas.Series):
        return {"text/html": value.to_frame()._repr_html_()}
    return None


def png_of_figure(figure):
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def png_of_image(image):
    import io

    buffer = io.BytesIO()
    if image.mode not in ("1", "L", "LA", "I", "P", "RGB", "RGBA"):
        image = image.convert("RGB")
    image.save(buffer, "PNG")
    return buffer.getvalue()
