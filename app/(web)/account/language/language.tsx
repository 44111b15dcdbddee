import type { Profile } from "@/lib/accounts/profile";
import { LOCALE_NAMES, LOCALES } from "@/lib/locale";
import { Form } from "../../components/form";

/** The language of the account's emails. */
export function Language({ profile }: { profile: Profile }) {
  return (
    <section className="card" aria-labelledby="language">
      <h2 id="language">Language of emails</h2>
      <Form action="/forms/account/language" className="actions">
        <select name="locale" aria-labelledby="language" defaultValue={profile.locale}>
          {LOCALES.map((locale) => (
            <option key={locale} value={locale} lang={locale}>
              {LOCALE_NAMES[locale]}
            </option>
          ))}
        </select>
        <button type="submit" className="quiet">
          Save
        </button>
      </Form>
    </section>
  );
}
