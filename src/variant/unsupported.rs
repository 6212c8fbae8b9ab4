//! Keys of Fairy-Stockfish that are not supported. Each is accepted with the value that has no effect.

use super::section::Section;
use super::values::ValueError;

/// Takes the keys that are known and not supported. Values without effect are not errors.
pub(super) fn take(section: &mut Section<'_>) {
    for (keys, harmless, reason) in UNSUPPORTED {
        for key in keys.split_ascii_whitespace() {
            section.take(key, |value| {
                if value == *harmless { Ok(()) } else { Err(ValueError::Unsupported(reason)) }
            });
        }
    }
    for key in IGNORED {
        section.take(key, |_| Ok(()));
    }
    for key in section.remaining() {
        if OTHER_PIECES.contains(&key.as_str()) || key.starts_with("customPiece") {
            section.take(&key, |value| {
                if value == "-" { Ok(()) } else { Err(ValueError::Unsupported(PIECES)) }
            });
        } else if key.starts_with("mobilityRegion") {
            let reason = "restricted regions of pieces";
            section.take(&key, |_| Err::<(), _>(ValueError::Unsupported(reason)));
        }
    }
}

const PIECES: &str = "pieces other than those of chess";

/// Keys separated by spaces, the value without effect, and the unsupported feature.
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("promotedPieceType", "", "promotion of pieces other than pawns"),
    (
        "piecePromotionOnCapture mandatoryPiecePromotion",
        "false",
        "promotion of pieces other than pawns",
    ),
    ("pieceDemotion sittuyinPromotion", "false", "other kinds of promotion"),
    ("pawnTypes promotionPawnTypes", "p", "other kinds of pawns"),
    ("promotionPawnTypesWhite promotionPawnTypesBlack", "p", "other kinds of pawns"),
    (
        "enPassantTypes enPassantTypesWhite enPassantTypesBlack",
        "p",
        "en passant captures by other pieces",
    ),
    ("mandatoryPawnPromotion", "true", "optional promotion"),
    ("tripleStepRegionWhite tripleStepRegionBlack", "-", "triple steps of pawns"),
    ("petrifyOnCaptureTypes", "-", "petrified pieces"),
    ("petrifyBlastPieces", "false", "petrified pieces"),
    (
        "castlingRookPieces castlingRookPiecesWhite castlingRookPiecesBlack",
        "r",
        "castling with other pieces than rooks",
    ),
    ("enclosingDrop flipEnclosedPieces", "none", "enclosing of pieces"),
    ("enclosingDropStart", "-", "enclosing of pieces"),
    ("dropOnTop dropPromoted sittuyinRookDrop", "false", "special drops"),
    ("immobilityIllegal", "false", "restricted destinations of pieces"),
    ("gating seirawanGating cambodianMoves", "false", "gating"),
    ("diagonalLines", "-", "diagonal lines of the board"),
    ("pass passWhite passBlack", "false", "passing"),
    ("passOnStalemate passOnStalemateWhite passOnStalemateBlack", "false", "passing"),
    ("makpongRule flyingGeneral bikjangRule", "false", "special rules of kings"),
    ("soldierPromotionRank", "1", PIECES),
    ("perpetualCheckIllegal moveRepetitionIllegal", "false", "special rules of repetition"),
    ("chasingRule", "none", "special rules of repetition"),
    ("countingRule", "none", "counting rules other than nMoveRule"),
    ("shogiPawnDropMateIllegal shatarMateRule", "false", "restrictions of mate"),
    ("dupleCheck", "false", "several royal pieces that must be attacked together"),
    ("connectN connectNxN collinearN", "0", "winning rows of pieces"),
    ("connectRegion1White connectRegion2White", "-", "winning rows of pieces"),
    ("connectRegion1Black connectRegion2Black", "-", "winning rows of pieces"),
];

/// Keys that only have an effect with unsupported keys or on the evaluation of Fairy-Stockfish.
const IGNORED: &[&str] = &[
    "connectPieceTypes",
    "connectHorizontal",
    "connectVertical",
    "connectDiagonal",
    "connectValue",
    "pieceValueMg",
    "pieceValueEg",
];

/// The keys of pieces other than those of chess.
const OTHER_PIECES: &[&str] = &[
    "fers",
    "alfil",
    "fersAlfil",
    "silver",
    "aiwok",
    "bers",
    "archbishop",
    "chancellor",
    "amazon",
    "knibis",
    "biskni",
    "kniroo",
    "rookni",
    "shogiPawn",
    "lance",
    "shogiKnight",
    "gold",
    "dragonHorse",
    "clobber",
    "breakthrough",
    "immobile",
    "cannon",
    "janggiCannon",
    "soldier",
    "horse",
    "elephant",
    "janggiElephant",
    "banner",
    "wazir",
    "centaur",
];
