"""How Sphinx builds the site: ``make docs``."""

import sys
from pathlib import Path

from manyview import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "manyview"
author = "The manyview developers"
copyright = "the manyview developers"
release = version = __version__

extensions = [
    "myst_parser",
    "no_requests",
    "numpydoc",
    "public_names",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.py", "gallery/*.ipynb"]
templates_path = ["_templates"]

# -n -W: a link or a reference that leads nowhere ends the build.
nitpicky = True
# `NSMVC` in a docstring links to the class; `n_clusters` is shown as it is.
default_role = "autolink"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Every public name has a summary, and documents its parameters as they are.
numpydoc_validation_checks = {"GL08", "SS03", "PR01", "PR02", "PR03", "RT01"}
numpydoc_validation_exclude = {r"\._", r"^sklearn\."}

html_theme = "pydata_sphinx_theme"
html_title = "manyview"
html_logo = html_favicon = "_static/manyview.svg"
html_static_path = ["_static"]
html_css_files = ["manyview.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "manyview"},
    "icon_links": [
        {
            "name": "GitHub",
            "url": "https://github.com/manyview/manyview",
            "icon": "fa-brands fa-github",
        }
    ],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "pygments_light_style": "github-light",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "start": [], "whats-new": []}

copybutton_exclude = ".linenos, .gp, .go"


def style_figures(gallery_conf, fname):
    """Plain axes in the colours of the site."""
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (7.5, 4.2),
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", style_figures),
    "doc_module": ("manyview",),
    "backreferences_dir": "gallery/backreferences",
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "copyfile_regex": "",
}
