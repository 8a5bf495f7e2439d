"use strict";
// Browsers start no worker from a file. This one runs the script in a hidden frame instead, so that search works when
// the site is opened from a folder.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#ready = new Promise((resolve) => {
        this.#frame.addEventListener("load", () => {
          const inside = this.#frame.contentWindow;
          // A worker posts to its page; here, the page is the one around the frame.
          inside.postMessage = (data) => {
            const event = new MessageEvent("message", { data });
            this.dispatchEvent(event);
            if (this.onmessage) this.onmessage(event);
          };
          inside.importScripts = (...scripts) =>
            Promise.all(
              scripts.map(
                (source) =>
                  new Promise((loaded) => {
                    const script = inside.document.createElement("script");
                    script.src = new URL(source, url).href;
                    script.addEventListener("load", loaded);
                    inside.document.body.append(script);
                  }),
              ),
            );
          const script = inside.document.createElement("script");
          script.src = url;
          script.addEventListener("load", resolve);
          inside.document.body.append(script);
        });
      });
      document.documentElement.append(this.#frame);
    }

    postMessage(data) {
      this.#ready.then(() => {
        this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
