"""Word lists for the traits of mentions: pronouns, gendered nouns, titles, first names, plurals."""

from __future__ import annotations

from typing import Literal, NamedTuple

Gender = Literal["masculine", "feminine", "neuter", "person", "unknown"]
Number = Literal["singular", "plural", "unknown"]


class Pronoun(NamedTuple):
    """Traits of a pronoun's form.

    Attributes
    ----------
    form
        Canonical form, the same for all cases: ``he`` for *him*, *his* and *himself*.
    person
        1, 2 or 3; 0 for other pronouns (*this*, *who*).
    gender, number
        As in `calibrant.structures.models.mentions.Traits`.
    reflexive
        True if the form is reflexive (*himself*).
    """

    form: str
    person: int
    gender: Gender
    number: Number
    reflexive: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pronouns() -> dict[str, Pronoun]:
    personal: tuple[tuple[str, int, Gender, Number, str, str, str], ...] = (
        # form, person, gender, number; other cases; possessives; reflexives
        ("i", 1, "person", "singular", "me", "my mine", "myself"),
        ("we", 1, "person", "plural", "us 's", "our ours", "ourselves ourself"),
        ("you", 2, "person", "unknown", "ya ye y'all", "your yours", "yourself yourselves"),
        ("thou", 2, "person", "singular", "thee", "thy thine", "thyself"),
        ("he", 3, "masculine", "singular", "him", "his", "himself hisself"),
        ("she", 3, "feminine", "singular", "her", "hers", "herself"),
        ("it", 3, "neuter", "singular", "'t", "its", "itself"),
        ("they", 3, "unknown", "plural", "them 'em em", "their theirs", "themselves themself"),
        ("one", 3, "person", "singular", "", "one's", "oneself"),
    )
    words: dict[str, Pronoun] = {}
    for form, person, gender, number, cases, possessives, reflexives in personal:
        for word in [form, *cases.split(), *possessives.split()]:
            words[word] = Pronoun(form, person, gender, number)
        for word in reflexives.split():
            words[word] = Pronoun(form, person, gender, number, reflexive=True)
    for form in ("this", "that"):
        words[form] = Pronoun(form, 0, "unknown", "singular")
    for form in ("these", "those"):
        words[form] = Pronoun(form, 0, "unknown", "plural")
    for form in ("who", "whom", "whoever"):
        words[form] = Pronoun("who", 0, "person", "unknown")
    words["whose"] = Pronoun("who", 0, "unknown", "unknown")
    for form in ("which", "what"):
        words[form] = Pronoun(form, 0, "neuter", "unknown")
    for start in ("some", "any", "every", "no"):
        for end in ("body", "one"):
            words[start + end] = Pronoun(start + end, 0, "person", "singular")
        words[start + "thing"] = Pronoun(start + "thing", 0, "neuter", "singular")
    for form in ("here", "there"):
        words[form] = Pronoun(form, 0, "neuter", "singular")
    return words


PRONOUNS = _pronouns()
RECIPROCAL = Pronoun("each other", 3, "unknown", "plural", reflexive=True)
RECIPROCALS = frozenset({("each", "other"), ("one", "another")})
# All canonical forms, for integer codes.
PRONOUN_FORMS = tuple(sorted({word.form for word in PRONOUNS.values()} | {RECIPROCAL.form}))

MALE_NOUNS = _words(
    """man men boy boys father fathers dad daddy papa pa son sons brother brothers uncle uncles nephew
    nephews husband husbands grandfather grandpa grandson grandsons king kings prince princes duke
    dukes earl earls lord lords baron barons count gentleman gentlemen lad lads fellow fellows chap
    chaps guy guys groom bridegroom widower monk monks priest priests friar abbot pope bishop knight
    knights squire esquire emperor emperors sultan wizard wizards sorcerer actor waiter host hero
    heroes god gods bachelor bachelors stepfather stepson stepbrother godfather godson father-in-law
    son-in-law brother-in-law landlord butler footman coachman sir gentleman monsieur signor don
    patriarch lover suitor bull stallion rooster cock ox males male tsar czar shah caliph sheikh
    viscount marquis"""
)
FEMALE_NOUNS = _words(
    """woman women girl girls mother mothers mom mommy mum mummy mamma mama ma daughter daughters
    sister sisters aunt aunts auntie niece nieces wife wives grandmother grandma granddaughter
    granddaughters queen queens princess princesses duchess duchesses countess countesses lady
    ladies baroness lass lasses gal gals bride brides widow widows nun nuns abbess empress witch
    witches sorceress enchantress actress actresses waitress waitresses hostess heroine heroines
    goddess goddesses spinster stepmother stepdaughter stepsister godmother goddaughter
    mother-in-law daughter-in-law sister-in-law landlady governess housemaid maid maids maiden
    maidens maidservant nurse nurses housekeeper madam madame mademoiselle signora signorina dame
    dames damsel mistress mistresses matron lioness tigress shepherdess stewardess seamstress
    laundress murderess heiress priestess poetess authoress negress jewess females female cow mare
    hen tsarina czarina viscountess marchioness ballerina chambermaid schoolgirl milkmaid"""
)
PERSON_NOUNS = _words(
    """person persons people human humans child children baby babies kid kids adult adults friend
    friends cousin cousins parent parents sibling siblings relative relatives neighbor neighbour
    neighbors neighbours guest guests stranger strangers doctor dr. doctors judge judges teacher
    student students professor author writer leader soldier soldiers officer officers captain
    colonel major general lieutenant sergeant servant servants slave slaves master masters boss
    chief chiefs president minister senator governor mayor secretary citizen citizens patient
    patients victim victims member members participant participants player players artist artists
    singer poet expert experts scientist scientists lawyer lawyers clerk creature creatures enemy
    enemies crowd companion companions couple family families team crew audience folk folks youth
    orphan infant twin twins spouse partner candidate coach pupil pupils passenger passengers
    traveller travellers visitor visitors prisoner prisoners tutor critic critics christian
    christians english french german americans americans italians europeans jews hero"""
)
MALE_TITLES = _words("""mr mr. mister sir lord monsieur m. herr signor don senor señor king prince""")
FEMALE_TITLES = _words(
    """mrs mrs. miss ms ms. lady madam madame mme mme. mlle mademoiselle dame frau fräulein signora
    queen"""
)
PERSON_TITLES = _words(
    """dr dr. doctor prof prof. professor captain capt. colonel col. major general gen. lieutenant
    lieut. sergeant judge rev. reverend president senator governor uncle aunt father mother brother
    sister saint st. cousin inspector count baron master"""
)
MALE_NAMES = _words(
    """aaron adam alan albert alec alex alexander alfred andrew andy anthony antonio archibald archie
    arnold arthur barack ben benjamin bernard bertram bill billy bob brad brian bruce carl carlos
    charles charley charlie chris christopher clark claude colin daniel dave david dean dennis derek
    dick donald douglas dan edgar edmund eduardo edward edwin elliott eric ernest eugene felix
    francis francois frank franklin fred frederick gabriel gary geoffrey george gerald gilbert
    giovanni greg gregory guy hamlet hans harold harry hector henry herbert herman horace howard
    hubert hugh hugo ian isaac ivan jack jacob jake james jason jean jeff jeffrey jeremy jerome
    jerry jesus jim jimmy joe john johnny jon jonathan jorge jose joseph josh joshua juan julian
    julius justin karl keith ken kenneth kevin larry lawrence leo leon leonard leslie lewis louis
    luke marcel marco marcus mark martin marvin matt matthew max maurice michael mike miles mohamed
    mohammed moses muhammad nathan nathaniel neil nicholas nick noah norman oliver oscar oswald otto
    owen pablo patrick paul pedro percy peter phil philip pierre ralph raymond reginald richard rick
    rob robert robin rodney roger roland ronald ronnie roy rudolf rupert russell ryan sam samuel
    scott sean sebastian simon sidney stanley stephen steve steven stuart ted terry theodore thomas
    tim timothy toby todd tom tommy tony tristram ulysses victor vincent vladimir walter warren
    wayne wilfred will william willie winston zachary"""
)
FEMALE_NAMES = _words(
    """abigail ada adela adelaide agatha agnes alice alicia alison amanda amelia amy andrea angela
    anita ann anna anne annie antonia audrey barbara beatrice becky belinda bella bertha beth betsy
    betty blanche brenda bridget camilla carol carolina caroline carrie catherine cathy cecilia
    celia charlotte christina christine clara clare clarissa claudia cora cornelia cynthia daisy
    deborah diana dinah dolly donna dora dorothea dorothy edith eleanor eliza elizabeth ella ellen
    elsie emily emma esther ethel eva evelyn fanny felicia fiona flora florence frances georgia
    georgiana gertrude gladys gloria grace greta hannah harriet hazel heather helen helena henrietta
    hester hilda ida irene isabel isabella ivy jane janet jean jennifer jenny jessica jessie joan
    joanna josephine joyce judith judy julia juliana julie juliet karen kate katherine kathleen
    kathryn katie kitty laura lauren leah lena letitia lily linda lisa lizzie lois louisa louise
    lucy lydia mabel madeleine maggie margaret margery maria marian marianne marie marilyn marion
    martha mary matilda maud may melanie melissa mercy mildred millicent minnie miranda miriam molly
    monica muriel nancy natalie natasha nellie nelly nicole nina nora olga olive olivia ophelia
    pamela patricia paula pauline peggy penelope phoebe phyllis polly priscilla rachel rebecca rita
    rosa rosalind rosamond rose rosemary ruth sally samantha sandra sarah serena sharon shirley
    sibyl silvia sonia sophia sophie stella stephanie susan susanna sylvia teresa theresa tess
    ursula valerie vanessa vera veronica victoria viola violet virginia wendy winifred yvonne zoe"""
)

IRREGULAR_PLURALS = _words(
    """men women children people feet teeth mice geese oxen lice dice data media criteria phenomena
    bacteria brethren folk folks police cattle alumni fungi cacti nuclei stimuli radii curricula
    strata sheep gentlemen workmen clergymen fishermen policemen englishmen frenchmen indians wives
    lives selves"""
)
SINGULARS_IN_S = _words(
    """news mathematics physics economics politics ethics linguistics statistics athletics series
    species means gas bus lens alas atlas always perhaps james charles thomas jesus moses hercules
    paris athens wales texas chaos pathos bias canvas christmas mass as is was has this us mrs. miss
    ms. yes"""
)
PLURAL_DETERMINERS = _words(
    """these those many several few both two three four five six seven eight nine ten"""
)
SINGULAR_DETERMINERS = _words("""a an this that each every another one either neither""")
DETERMINERS = PLURAL_DETERMINERS | SINGULAR_DETERMINERS | _words("""the some any no all such what which""")
PREPOSITIONS = _words(
    """of in on at by for from with without within about above across after against along amid among
    amongst around as before behind below beneath beside besides between beyond concerning despite
    down during except inside into like near off onto opposite outside over past per regarding round
    since than through throughout till to toward towards under underneath until unto up upon via"""
)
# Words that end the part of a noun phrase with its head: beginnings of clauses, and punctuation.
BREAKS = _words(
    """who whom whose which that where when why how because if whether is are was were be been being has have
    had do does did will would can could shall should may might must , ; : -- — – ( [ \" “ ” '' ``"""
)
CONJUNCTIONS = frozenset(["and", "or", "nor", "&"])
NEUTER_SUFFIXES = tuple(
    _words("tion sion ment ness ity ism ship hood dom ance ence ancy ency age ture logy graphy tude cy sis")
)
PERSON_SUFFIXES = ("ist", "ician", "eer", "ster", "ants", "ists")
