"""The data sets of the papers, a record each."""

from __future__ import annotations

from laminar.datasets.record import Labels, Record

FACES = "research use only, under the terms of the owner"
CAI = "the .mat files of Cai et al., which many repositories hold"


def records() -> dict[str, Record]:
    """Return the records of the data sets that the papers use.

    Returns
    -------
    dict of str to Record
        By name, in alphabetical order.

    See Also
    --------
    load : Read one of them.

    Examples
    --------
    >>> from laminar.datasets import records
    >>> record = records()["xm2vts"]
    >>> record.n_samples, record.n_features, record.image_shape
    (2360, (1260,), (42, 30))
    """
    return {record.name: record for record in sorted(_RECORDS, key=lambda record: record.name)}


# Yale: the order of the images of a person. The archive of the owner has subject01.gif for subject01.centerlight.
_CONDITIONS = (
    "centerlight",
    "glasses",
    "happy",
    "leftlight",
    "noglasses",
    "normal",
    "rightlight",
    "sad",
    "sleepy",
    "surprised",
    "wink",
)

# CMU Multi-PIE: the expression of a recording of a session.
_EXPRESSIONS = {
    "01": ("neutral", "smile"),
    "02": ("neutral", "surprise", "squint"),
    "03": ("neutral", "smile", "disgust"),
    "04": ("neutral", "neutral", "scream"),
}

# Caltech-101: the ten largest categories, without Faces_easy and background; together 3044 images, as in the paper.
_CATEGORIES = (
    "airplanes",
    "Motorbikes",
    "Faces",
    "watch",
    "Leopards",
    "bonsai",
    "car_side",
    "ketch",
    "chandelier",
    "hawksbill",
)


def _yale_condition(labels: Labels) -> Labels:
    return {"condition": labels["condition"] or "centerlight"}


def _expression(labels: Labels) -> Labels:
    """Return the expression in CMU Multi-PIE, unknown for recordings that are not of an expression."""
    of_session = _EXPRESSIONS.get(labels["session"], ())
    recording = int(labels["recording"])
    return {"expression": of_session[recording - 1] if 1 <= recording <= len(of_session) else ""}


_RECORDS = (
    Record(
        name="pie",
        title="CMU PIE",
        what="faces of 68 people under varying pose, illumination and expression",
        owner="Carnegie Mellon University, Robotics Institute",
        page=f"https://www.ri.cmu.edu/project/pie-database/; camera C27 in {CAI}",
        papers="Trigeorgis et al.: 2856 x 1024, camera C27, 32 x 32",
        n_samples=2856,
        n_features=(1024,),
        attributes=("identity", "illumination"),
        image_shape=(32, 32),
        array_file="pie_pose27",
        difference="none",
        matlab_files=("PIE_pose27.mat", "Pose27_64x64.mat", "PIE_32x32.mat"),
        position="illumination",
        folders=("PIE_dataset", "CMU-PIE", "cmu_pie"),
        example="04000/illum/27_13.ppm or 01_01_27_13.jpg",
        patterns=(
            r"(?P<identity>\d{5})/(?P<session>\w+)/(?P<camera>\d\d)_(?P<illumination>\d\d)",
            r"(?P<identity>\d\d)_(?P<session>\d\d)_(?P<camera>\d\d)_(?P<illumination>\d\d)",
        ),
        licence=FACES,
    ),
    Record(
        name="orl",
        title="ORL (AT&T, Olivetti)",
        what="ten images of each of 40 faces",
        owner="AT&T Laboratories Cambridge",
        page=f"https://cam-orl.co.uk/facedatabase.html; 32 x 32 in {CAI}",
        papers="Xiao et al.: 400 x 1024, 32 x 32",
        n_samples=400,
        n_features=(1024,),
        attributes=("identity",),
        image_shape=(32, 32),
        difference="none; X64 has 64 x 64. The download has 64 x 64 alone: size=32 reduces them",
        matlab_files=("ORL_32x32.mat", "ORL_64x64.mat", "ORL_mtv.mat"),
        folders=("att_faces", "orl_faces", "ORL"),
        example="s1/1.pgm",
        patterns=(r"s(?P<identity>\d+)/\d+", r"s(?P<identity>\d+)_\d+"),
        open_source="scikit-learn's fetch_olivetti_faces (64 x 64)",
        licence=FACES,
    ),
    Record(
        name="yale",
        title="Yale",
        what="eleven images of each of 15 faces: light from three sides, glasses, expressions",
        owner="Yale University",
        page=f"http://vision.ucsd.edu/content/yale-face-database; 32 x 32 in {CAI}",
        papers="Xiao et al., Zhao et al.: 165 x 1024, 32 x 32; views of Zhao et al. 4096, 3304, 6750",
        n_samples=165,
        n_features=(1024,),
        attributes=("identity", "condition"),
        image_shape=(32, 32),
        difference="none; X64 has 64 x 64, another crop; yale_mv has three views, two of them recomputed",
        matlab_files=("Yale_32x32.mat", "Yale_64x64.mat", "yale_mtv.mat"),
        position="condition",
        position_names=_CONDITIONS,
        folders=("yalefaces",),
        example="subject01.happy",
        patterns=(rf"subject(?P<identity>\d+)(?:[._](?P<condition>{'|'.join(_CONDITIONS)}))?",),
        derived=_yale_condition,
        any_ending=True,
        licence=FACES,
    ),
    Record(
        name="yaleb",
        title="Extended Yale B, cropped",
        what="38 frontal faces, each under 64 lights",
        owner="Yale University",
        page="http://vision.ucsd.edu/~leekc/ExtYaleDatabase/ExtYaleB.html",
        papers="Zhao et al.: 640 images of the first 10 people; in all 2414, the files that end in .bad left out",
        n_samples=2414,
        n_features=(1024,),
        attributes=("identity", "pose", "illumination"),
        image_shape=(32, 32),
        difference="absent",
        matlab_files=("YaleB_32x32.mat", "yaleB_mtv.mat"),
        folders=("CroppedYale", "ExtendedYaleB"),
        example="yaleB01/yaleB01_P00A+000E+00.pgm",
        patterns=(r"yaleB(?P<identity>\d+)_(?P<pose>P\d+)(?P<illumination>A[+-]\d+E[+-]\d+)",),
    ),
    Record(
        name="coil20",
        title="COIL-20",
        what="20 objects on a turntable, every five degrees",
        owner="Columbia University, CAVE",
        page=f"https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php; 32 x 32 in {CAI}",
        papers="1440 x 1024, 32 x 32",
        n_samples=1440,
        n_features=(1024,),
        attributes=("identity", "angle"),
        image_shape=(32, 32),
        difference="none",
        matlab_files=("COIL20.mat",),
        position="angle",
        folders=("coil-20", "coil-20-proc", "coil-20-unproc"),
        example="obj1__0.png",
        patterns=(r"obj(?P<identity>\d+)__(?P<angle>\d+)",),
        sequence="identity",
    ),
    Record(
        name="umist",
        title="UMIST (Sheffield)",
        what="20 people who turn from profile to frontal view",
        owner="University of Sheffield",
        page="the face database of its image engineering laboratory; umist_cropped.mat at cs.nyu.edu/~roweis/data.html",
        papers="575 x 644, 28 x 23",
        n_samples=575,
        n_features=(644,),
        attributes=("identity",),
        image_shape=(28, 23),
        array_file="umist_sequences",
        difference="none; some people have more than one sweep",
        matlab_files=("umist.mat", "umist_cropped.mat"),
        matlab_shapes=((28, 23), (112, 92)),
        folders=("Sheffield", "UMIST_cropped"),
        example="1a/face/000.pgm",
        patterns=(r"(?P<identity>\d?[a-z])/face/[^/]+", r"(?P<identity>\d?[a-z])/[^/]+"),
        sequence="identity",
        licence=FACES,
    ),
    Record(
        name="nottinghill",
        title="Notting-Hill",
        what="faces of five people in a film",
        owner="the authors of its video face clustering, Zhang et al.",
        page="their publication; as .mat in repositories of multi-view clustering",
        papers="Zhao et al.: 4660 faces of 5 people; views 2000, 3304, 6750",
        n_samples=4660,
        n_features=(2000, 3304, 6750),
        attributes=("y",),
        image_shape=(60, 60),
        difference="1494 images of 60 x 60; nottinghill_mv has 550 of them in three views, two recomputed",
        matlab_files=("Notting-Hill.mat", "NottingHill.mat", "NH.mat"),
        matlab_shapes=((50, 40),),
        folders=("Notting-Hill",),
        example="person1/0001.jpg",
        patterns=(r"(?P<y>[^/]+)/[^/]+",),
        licence=FACES,
    ),
    Record(
        name="uci_digits",
        title="UCI multiple features",
        what="2000 handwritten digits in six views",
        owner="Delft University of Technology",
        page="https://archive.ics.uci.edu/dataset/72/multiple+features",
        papers="2000 x 216, 76, 64, 6, 240, 47",
        n_samples=2000,
        n_features=(216, 76, 64, 6, 240, 47),
        attributes=("y",),
        array_file="uci_digits_mv",
        difference="none, rounded to float32",
        matlab_files=("Handwritten.mat", "Mfeat.mat", "UCI-Digits.mat"),
        folders=("mfeat", "multiple+features"),
        folder_kind="multiple features",
        example="mfeat-fac, mfeat-fou, mfeat-kar, mfeat-mor, mfeat-pix, mfeat-zer",
        open_source="OpenML, through scikit-learn's fetch_openml",
    ),
    Record(
        name="cmu_faces",
        title="CMU face images",
        what="20 people in four poses, with four expressions, with and without sunglasses",
        owner="Carnegie Mellon University",
        page="https://archive.ics.uci.edu/dataset/124/cmu+face+images",
        papers="none; in place of CMU Multi-PIE: 624 x 960, 30 x 32",
        n_samples=624,
        n_features=(960,),
        attributes=("identity", "pose", "expression", "eyes"),
        image_shape=(30, 32),
        difference="none; X64 has 60 x 64",
        folders=("faces", "faces_4", "cmu+face+images"),
        example="an2i/an2i_left_angry_open_4.pgm",
        patterns=tuple(
            r"(?P<identity>[a-z0-9]+)_(?P<pose>left|right|straight|up)_(?P<expression>angry|happy|neutral|sad)"
            rf"_(?P<eyes>open|sunglasses){scale}"
            for scale in ("_4", "_2", "")
        ),
        licence=FACES,
    ),
    Record(
        name="3sources",
        title="3Sources",
        what="news stories of six topics, as BBC, Guardian and Reuters report them",
        owner="University College Dublin",
        page="http://mlg.ucd.ie/datasets/3sources.html",
        papers="169 x 3560, 3631, 3068, the stories that all three report",
        n_samples=169,
        n_features=(3560, 3631, 3068),
        attributes=("y",),
        array_file="3sources_mv",
        difference="none",
        matlab_files=("3Sources.mat",),
        folder_kind="three sources",
        example="3sources_bbc.mtx, 3sources_bbc.docs, ..., 3sources.disjoint.clist",
    ),
    Record(
        name="webkb",
        title="WebKB, course pages",
        what="pages of universities, about courses or not: words of the page, words of links to it",
        owner="Carnegie Mellon University, World Wide Knowledge Base project",
        page="http://www.cs.cmu.edu/~webkb/; as .mat in repositories of multi-view clustering",
        papers="1051 x 1840, 3000",
        n_samples=1051,
        n_features=(1840, 3000),
        attributes=("y",),
        array_file="webkb_mv",
        difference="none known; five rows of each view are zero, some are duplicates",
        matlab_files=("WebKB.mat",),
    ),
    Record(
        name="xm2vts",
        title="XM2VTS",
        what="295 people in four sessions, two frontal shots each",
        owner="University of Surrey, CVSSP",
        page="http://www.ee.surrey.ac.uk/CVSSP/xm2vtsdb/, under a licence",
        papers="Trigeorgis et al.: 2360 x 1260, eyes aligned, 42 x 30",
        n_samples=2360,
        n_features=(1260,),
        attributes=("identity", "session", "shot"),
        image_shape=(42, 30),
        difference="absent",
        matlab_files=("XM2VTS.mat",),
        matlab_shapes=((42, 30),),
        folders=("xm2vtsdb",),
        example="000_1_1.ppm",
        patterns=(r"(?P<identity>\d{3})_(?P<session>\d)_(?P<shot>\d)",),
    ),
    Record(
        name="casia_webface",
        title="CASIA-WebFace",
        what="faces of 10 575 people, collected from the web",
        owner="Chinese Academy of Sciences, Institute of Automation",
        page="http://www.cbsr.ia.ac.cn/english/CASIA-WebFace-Database.html, on request",
        papers="Trigeorgis et al.: 10 000 x 10 000, 20 images of each of 500 people, 100 x 100; which is not stated",
        n_samples=10000,
        n_features=(10000,),
        attributes=("identity",),
        image_shape=(100, 100),
        difference="absent",
        matlab_files=("CASIA_WebFace.mat",),
        folders=("CASIA-WebFace",),
        example="0000045/001.jpg",
        patterns=(r"(?P<identity>\d+)/\d+",),
        n_classes=500,
        per_class=20,
    ),
    Record(
        name="multipie",
        title="CMU Multi-PIE",
        what="337 people in four sessions, 15 views, 19 illuminations and six expressions",
        owner="Carnegie Mellon University",
        page="http://www.cs.cmu.edu/afs/cs/project/PIE/MultiPie/Multi-Pie/Home.html, under a licence",
        papers="Trigeorgis et al.: 7905 x 1200, 147 people, 5 poses, 6 expressions, landmarks aligned, 40 x 30",
        n_samples=7905,
        n_features=(1200,),
        attributes=("identity", "pose", "expression", "illumination"),
        image_shape=(40, 30),
        difference="absent; cmu_faces and pie_5pose_10id stand in for it",
        matlab_files=("A_MultiPIE.mat",),
        matlab_shapes=((40, 30),),
        folders=("Multi-PIE", "Multi-Pie"),
        example="001_01_01_051_07.png",
        patterns=(r"(?P<identity>\d{3})_(?P<session>\d\d)_(?P<recording>\d\d)_(?P<pose>\d{3})_(?P<illumination>\d\d)",),
        derived=_expression,
        licence="licensed by its owner",
    ),
    Record(
        name="mmi",
        title="MMI",
        what="videos of faces from neutral to an expression and back, with action units",
        owner="Imperial College London and University of Twente",
        page="https://mmifacedb.eu/, on request",
        papers="Zafeiriou et al.: one video at a time, 68 landmarks aligned, 169 x 171",
        n_samples=0,
        n_features=(28899,),
        attributes=("sequence",),
        image_shape=(169, 171),
        difference="absent; smile_video and make_expression_video stand in for it",
        folders=("mmi-facial-expression-database",),
        folder_kind="sequences",
        example="S001-001/0001.png, or videos",
        patterns=(r"(?P<sequence>[^/]+)/[^/]+",),
        sequence="sequence",
    ),
    Record(
        name="caltech101",
        title="Caltech-101",
        what="photographs of objects of 101 categories, of which the ten largest are read",
        owner="California Institute of Technology",
        page="https://data.caltech.edu/records/mzrjq-6wc02",
        papers="Xiao et al.: 3044 x 500, ten categories, bags of SIFT words: laminar.features.SiftBagOfWords",
        n_samples=3044,
        n_features=(500,),
        attributes=("category",),
        image_shape=(128, 128),
        difference="absent",
        folders=("101_ObjectCategories", "caltech-101"),
        example="airplanes/image_0001.jpg",
        patterns=(rf"(?P<category>{'|'.join(_CATEGORIES)})/image_\d+",),
    ),
)
