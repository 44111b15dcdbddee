import type { Context } from "@/lib/context";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { kindField, readPreferences } from "@/lib/push/preferences";
import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { textsOf } from "../../language/page-language";
import { NOTIFICATIONS } from "./texts";

type Props = { ctx: Pick<Context, "db">; accountId: string; flash: Flash | null };

const FORM = "/forms/account/notifications";

/** What the account's devices are notified of, and when. */
export async function Notifications({ ctx, accountId, flash }: Props) {
  const { kinds, quietHours } = await readPreferences(ctx.db, accountId);
  const texts = await textsOf(NOTIFICATIONS);
  return (
    <section className="card" aria-labelledby="notifications">
      <h2 id="notifications">{texts.title}</h2>
      <Form action={FORM} flash={flash?.form === FORM ? flash : null}>
        <fieldset>
          <legend>{texts.intro}</legend>
          {Object.entries(kinds).map(([kind, isOn]) => (
            <label key={kind} className="check">
              <input type="checkbox" name={kindField(kind)} value="on" defaultChecked={isOn} />{" "}
              {texts.kinds[kind] ?? kind}
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>{texts.quietHours}</legend>
          <p className="hint">{texts.quietHint}</p>
          <Field name="startsAt" label={texts.startsAt} type="time" defaultValue={quietHours?.startsAt} />
          <Field name="endsAt" label={texts.endsAt} type="time" defaultValue={quietHours?.endsAt} />
        </fieldset>
        <button type="submit" className="quiet">
          {texts.save}
        </button>
      </Form>
    </section>
  );
}
