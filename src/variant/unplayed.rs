//! Keys that Fairy-Stockfish knows and that are not honoured: each with the value that asks for
//! nothing, and the reason to give for any other.

use super::section::Section;

/// Takes what is known and not honoured; a value that changes nothing is no fault.
pub(super) fn take(section: &mut Section<'_>) {
    for (keys, harmless, reason) in UNPLAYED {
        for key in keys.split_ascii_whitespace() {
            section.take(key, |value| match value == *harmless {
                true => Ok(()),
                false => Err((*reason).to_owned()),
            });
        }
    }
    for key in IGNORED {
        section.take(key, |_| Ok(()));
    }
    for key in section.left() {
        if OTHER_MEN.contains(&key.as_str()) || key.starts_with("customPiece") {
            section.take(&key, |value| match value {
                "-" => Ok(()),
                _ => Err("the men are those of chess".to_owned()),
            });
        } else if key.starts_with("mobilityRegion") {
            section.take(&key, |_| Err::<(), _>("men go wherever the board lets them".to_owned()));
        }
    }
}

/// Keys in one string with a space between, the value that asks for nothing, the reason.
const UNPLAYED: &[(&str, &str, &str)] = &[
    ("promotedPieceType", "", "pawns alone promote"),
    ("piecePromotionOnCapture mandatoryPiecePromotion", "false", "pawns alone promote"),
    ("pieceDemotion sittuyinPromotion", "false", "pawns alone promote, once they get there"),
    ("pawnTypes promotionPawnTypes", "p", "pawns are the men of chess"),
    ("promotionPawnTypesWhite promotionPawnTypesBlack", "p", "pawns are the men of chess"),
    ("enPassantTypes enPassantTypesWhite enPassantTypesBlack", "p", "pawns take en passant"),
    ("mandatoryPawnPromotion", "true", "a pawn that gets there promotes"),
    ("tripleStepRegionWhite tripleStepRegionBlack", "-", "pawns go two squares at most"),
    ("petrifyOnCaptureTypes", "-", "captures make no walls"),
    ("petrifyBlastPieces", "false", "captures make no walls"),
    ("castlingRookPieces castlingRookPiecesWhite castlingRookPiecesBlack", "r", "rooks castle"),
    ("enclosingDrop flipEnclosedPieces", "none", "men are not enclosed"),
    ("enclosingDropStart", "-", "men are not enclosed"),
    ("dropOnTop dropPromoted sittuyinRookDrop", "false", "men are dropped as they are in hand"),
    ("immobilityIllegal", "false", "men may go where they cannot move on"),
    ("gating seirawanGating cambodianMoves", "false", "men enter by drops alone"),
    ("diagonalLines", "-", "all squares of the board are alike"),
    ("pass passWhite passBlack", "false", "nobody may pass"),
    ("passOnStalemate passOnStalemateWhite passOnStalemateBlack", "false", "nobody may pass"),
    ("makpongRule flyingGeneral bikjangRule", "false", "kings are those of chess"),
    ("soldierPromotionRank", "1", "the men are those of chess"),
    ("perpetualCheckIllegal moveRepetitionIllegal", "false", "repetition is not told apart"),
    ("chasingRule", "none", "repetition is not told apart"),
    ("countingRule", "none", "moves are counted by nMoveRule alone"),
    ("shogiPawnDropMateIllegal shatarMateRule", "false", "any man may mate"),
    ("dupleCheck", "false", "royal men are royal each for itself"),
    ("connectN connectNxN collinearN", "0", "rows of men do not win"),
    ("connectRegion1White connectRegion2White", "-", "rows of men do not win"),
    ("connectRegion1Black connectRegion2Black", "-", "rows of men do not win"),
];

/// What matters only beside keys that are not honoured, or only to Fairy-Stockfish's evaluation.
const IGNORED: &[&str] = &[
    "connectPieceTypes",
    "connectHorizontal",
    "connectVertical",
    "connectDiagonal",
    "connectValue",
    "pieceValueMg",
    "pieceValueEg",
];

const OTHER_MEN: &[&str] = &[
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
