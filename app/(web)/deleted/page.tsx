import { Notice } from "../components/notice";
import { StoreBillingNote } from "../components/store-billing-note";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: { title: "Account deleted", done: "Your account and all of its data have been deleted." },
  de: { title: "Konto gelöscht", done: "Ihr Konto und alle seine Daten wurden gelöscht." },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page() {
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      <Notice>{texts.done}</Notice>
      <StoreBillingNote />
      <p className="aside">
        <a href="/">{common.home}</a>
      </p>
    </div>
  );
}
