import type { Account, Acme } from "./preload";

declare const acme: Acme;

const element = (id: string) => document.getElementById(id) as HTMLElement;

function show({ email, hasPro }: Account): void {
  element("user").textContent = email ?? "Signed out, or offline";
  element("pro").hidden = !hasPro;
}

/** Runs one of the app's actions. A sign-in that the user cancels rejects. */
async function run(action: () => Promise<Account>): Promise<void> {
  try {
    show(await action());
  } catch (error) {
    element("user").textContent = String(error);
  }
}

element("sign-in").onclick = () => run(acme.signIn);
element("sign-out").onclick = () => run(acme.signOut);
run(acme.account);
