"""`Record`: what is known of a data set, who gives it out, and the files it is found in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Record:
    """What is known of a data set.

    Parameters
    ----------
    name : str
        Name for :func:`load`.
    title : str
        Name in the literature.
    what : str
        What is in it.
    owner : str
        Who collected it.
    page : str
        Where the owner gives it out.
    papers : str
        Which papers use it, in which size.
    n_samples : int
        Number of samples in the papers.
    n_features : tuple of int
        Number of features of each view in the papers.
    attributes : tuple of str
        Attributes that have labels; which of them a file holds depends on its kind.
    image_shape : (height, width) or None, default=None
        Size of the images in the papers, to which those of a folder are resized; None where samples are no images.
    array_file : str or None, default=None
        Name of the .npz file without ending, if it is not ``name``.
    difference : str, default=""
        How that file differs from the data of the papers.
    matlab_files : tuple of str, default=()
        Names of .mat files.
    matlab_shapes : tuple of (height, width), default=()
        Sizes of images in .mat files besides squares; their pixels are in the order of columns.
    position : str or None, default=None
        Attribute that is the position of a sample among those of its class, in the first of ``matlab_files``.
    position_names : tuple of str, default=()
        Names of these positions.
    folders : tuple of str, default=()
        Names of the folder, besides ``name``.
    folder_kind : {"images", "sequences", "multiple features", "three sources"}, default="images"
        What the folder holds.
    example : str, default=""
        Name of a file in the folder.
    patterns : tuple of str, default=()
        Regular expressions of the names of images, without ending, with a group an attribute; the first that any file
        matches is used.
    derived : callable or None, default=None
        Function from the labels in the name of one file to further labels.
    any_ending : bool, default=False
        Whether images may have names without the ending of an image format.
    n_classes, per_class : int or None, default=None
        Of a folder the first ``n_classes`` classes of the first attribute with at least ``per_class`` images are read,
        and of each the first ``per_class``; None is all.
    sequence : str or None, default=None
        Attribute whose classes are sequences, with rows in order of time.
    open_source : str, default=""
        What :func:`load` downloads it from; empty if from nowhere.
    licence : str, default=""
        What is known of its licence.

    See Also
    --------
    records : All records.

    Examples
    --------
    >>> from laminar.datasets import records
    >>> records()["coil20"].n_samples
    1440
    """

    name: str
    title: str
    what: str
    owner: str
    page: str
    papers: str
    n_samples: int
    n_features: tuple[int, ...]
    attributes: tuple[str, ...]
    image_shape: tuple[int, int] | None = None
    array_file: str | None = None
    difference: str = ""
    matlab_files: tuple[str, ...] = ()
    matlab_shapes: tuple[tuple[int, int], ...] = ()
    position: str | None = None
    position_names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    folder_kind: str = "images"
    example: str = ""
    patterns: tuple[str, ...] = ()
    derived: Callable[[Labels], Labels] | None = None
    any_ending: bool = False
    n_classes: int | None = None
    per_class: int | None = None
    sequence: str | None = None
    open_source: str = ""
    licence: str = ""
