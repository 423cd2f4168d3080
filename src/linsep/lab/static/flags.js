// The options of svm-train, which svm-toy takes as well, and settings that say the same. Nothing here
// knows a page.

const SVM_KERNELS = ["linear", "poly", "rbf"];

export function flagsOf(method, settings) {
  const kernel = method === "linear-svm" ? "linear" : (settings.kernel ?? "rbf"),
    out = [`-s 0 -t ${SVM_KERNELS.indexOf(kernel)}`];
  if (kernel === "poly") out.push(`-d ${settings.degree ?? 2}`);
  if (kernel !== "linear") out.push(`-g ${settings.gamma ?? 0.5}`);
  if (kernel === "poly") out.push(`-r ${settings.coef0 ?? 1}`);
  return [...out, `-c ${settings.C ?? 1}`].join(" ");
}

// The method and settings of such options, with the defaults of svm-train; or an error in words.
export function readFlags(text, d) {
  const words = text.trim().split(/\s+/).filter(Boolean),
    given = {};
  for (let k = 0; k < words.length; k += 2) {
    const [flag, value] = [words[k], words[k + 1]],
      name = {
        "-s": "type",
        "-t": "kernel",
        "-d": "degree",
        "-g": "gamma",
        "-r": "coef0",
        "-c": "C",
        "-e": "tol",
        "-m": "memory",
        "-h": "shrinking",
        "-q": "quiet",
      }[flag];
    if (name === "quiet") {
      k -= 1;
      continue;
    }
    if (!name)
      return {
        error: `${flag} is no option that the lab takes; it takes -s 0, -t 0 to 2, -d, -g, -r and -c.`,
      };
    const number = name === "C" && value === "inf" ? "inf" : Number(value);
    if (value === undefined || Number.isNaN(number)) return { error: `${flag} needs a number.` };
    given[name] = number;
  }
  const { type = 0, kernel = 2, degree = 3, gamma = 1 / d, coef0 = 0, C = 1 } = given;
  if (type !== 0) return { error: `-s ${type} is not in the lab; -s 0 is, the machine with a cost C.` };
  if (!SVM_KERNELS[kernel])
    return { error: `-t ${kernel} is not in the lab; 0 is linear, 1 polynomial, 2 Gaussian.` };
  if (!(gamma > 0) || !(C === "inf" || C > 0) || !(degree >= 1) || coef0 < 0)
    return { error: "-g and -c must be above 0, -d at least 1, -r at least 0." };
  const own = { linear: {}, poly: { gamma, degree: Math.round(degree), coef0 }, rbf: { gamma } }[
    SVM_KERNELS[kernel]
  ];
  return { method: "kernel-svm", settings: { kernel: SVM_KERNELS[kernel], ...own, C } };
}
