import { LOCALE_NAMES, LOCALES } from "@/lib/platform/locale";
import { Form } from "../../components/form";
import { pageLocale } from "../../language/page-language";
import type { AccountTexts } from "../texts/account";

/** The language of the account's pages and emails. */
export async function Language({ texts }: { texts: AccountTexts["language"] }) {
  return (
    <section className="card" aria-labelledby="language">
      <h2 id="language">{texts.title}</h2>
      <p>{texts.intro}</p>
      <Form action="/forms/account/language" className="actions">
        <select name="locale" aria-labelledby="language" defaultValue={await pageLocale()}>
          {LOCALES.map((locale) => (
            <option key={locale} value={locale} lang={locale}>
              {LOCALE_NAMES[locale]}
            </option>
          ))}
        </select>
        <button type="submit" className="quiet">
          {texts.save}
        </button>
      </Form>
    </section>
  );
}
