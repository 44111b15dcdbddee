import { COMMON } from "../../language/common-texts";
import { textsOf, titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep } from "../account-step";
import { requireRecentVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: {
    title: "Export data",
    intro:
      "The export is one JSON file with everything that we store about you. Keep it where nobody else can read it.",
    back: "Back to your account",
  },
  de: {
    title: "Daten exportieren",
    intro:
      "Der Export ist eine JSON-Datei mit allem, was wir über Sie speichern. Bewahren Sie sie dort auf, wo sie niemand sonst lesen kann.",
    back: "Zurück zu Ihrem Konto",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page() {
  await requireRecentVisitor("/account/export");
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
  return (
    <AccountStep title={texts.title} back={texts.back}>
      <p>{texts.intro}</p>
      <p>
        <a className="button" href="/api/auth/account/export">
          {common.download}
        </a>
      </p>
    </AccountStep>
  );
}
