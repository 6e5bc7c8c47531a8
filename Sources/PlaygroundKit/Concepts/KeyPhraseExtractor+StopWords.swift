extension KeyPhraseExtractor {
  /// English words that a picture can't show: articles, pronouns, prepositions, auxiliaries, and words of letters and wishes.
  static let stopWords: Set<String> = Set(
    """
    a about above after again against all almost also although always am among an and another any anybody anyone anything are
    aren't as at away back be became because become been before began being below between both but by came can can't cannot
    come could couldn't dear did didn't do does doesn't doing don't done down during each either else enough even ever every
    everybody everyone everything few for from further get gets getting give given go goes going gone gonna got had hadn't has
    hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his hope hopes how how's however i
    i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just keep kept know known last least less let let's
    like likely lot love made make makes making many may maybe me might mine more most much must mustn't my myself need neither
    never next no nobody none nor not nothing now of off often on once one only onto or other others our ours ourselves out over
    own per perhaps please quite rather really said same say see seem seemed seems shall she she'd she'll she's should
    shouldn't since so some somebody someone something soon still such take taken than thank thanks that that's the their
    theirs them themselves then there there's therefore these they they'd they'll they're they've thing things think this those
    though through till to together too toward towards under until up upon us used very via want wants was wasn't way we we'd
    we'll we're we've well went were weren't what what's when when's where where's whether which while who who's whole whom
    whose why why's will wish wished wishes wishing with within without won't would wouldn't yes yet you you'd you'll you're
    you've your yours yourself yourselves
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
