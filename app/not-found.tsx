import { SupportLink } from "./(web)/components/support-link";
import { ConsoleLink } from "./(web)/frame/account-menu";
import { SiteFrame } from "./(web)/frame/site-frame";
import { COMMON } from "./(web)/language/common-texts";
import { textsOf, titleOf } from "./(web)/language/page-language";
import { defineTexts } from "./(web)/language/texts";

const TEXTS = defineTexts({
  en: { title: "Not found", lead: "Check the URL. The page may also have been removed." },
  de: { title: "Nicht gefunden", lead: "Prüfen Sie die Adresse. Vielleicht wurde die Seite auch entfernt." },
});

export const generateMetadata = titleOf(TEXTS);

export default async function NotFound() {
  const [texts, common] = [await textsOf(TEXTS), await textsOf(COMMON)];
  return (
    <SiteFrame isForEverybody>
      <h1>{texts.title}</h1>
      <p className="lead">{texts.lead}</p>
      <SupportLink />
      <p>
        <a href="/">{common.home}</a>
      </p>
      <ConsoleLink />
    </SiteFrame>
  );
}
