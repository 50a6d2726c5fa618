# Fit y ~ s(x) + s(uid) + s(uid, x) with mgcv and print "name,value" lines.
# Rscript mgcv.R TABLE.csv OUTCOME FAMILY BASIS; TABLE.csv has the columns uid, x and OUTCOME.
suppressPackageStartupMessages(library(mgcv))
given <- commandArgs(TRUE)
d <- read.csv(given[1])
d$uid <- factor(d$uid)
d$y <- d[[given[2]]]
family <- switch(given[3], gaussian = gaussian(), binomial = binomial(), ordered = ocat(R = max(d$y)))
basis <- c("thin-plate" = "tp", cubic = "cr")[[given[4]]]
begin <- proc.time()
m <- gam(y ~ s(x, bs = basis, k = 10) + s(uid, bs = "re") + s(uid, x, bs = "re"),
         data = d, family = family, method = "REML")
seconds <- (proc.time() - begin)
s <- summary(m)
random <- sapply(m$smooth[2:3], function(one) sqrt(m$reml.scale / m$sp[[one$label]] * one$S.scale))
grid <- seq(min(d$x), max(d$x), length.out = 5)
curve <- predict(m, data.frame(x = grid, uid = d$uid[1]), se.fit = TRUE, newdata.guaranteed = TRUE,
                 exclude = c("s(uid)", "s(uid,x)"))
out <- c(
  intercept = s$p.table[1, 1], error = s$p.table[1, 2], p = s$p.table[1, 4],
  edf_curve = s$edf[1], edf_uid = s$edf[2], edf_slope = s$edf[3],
  reference = s$s.table[1, 2], statistic = s$s.table[1, 3], p_curve = s$s.table[1, 4],
  scale = m$sig2, log_likelihood = as.numeric(logLik(m)), aic = AIC(m),
  deviation_uid = random[[1]], deviation_slope = random[[2]],
  setNames(curve$fit, paste0("fit_", 1:5)), setNames(curve$se.fit, paste0("se_", 1:5)),
  seconds = seconds[["user.self"]] + seconds[["sys.self"]]
)
if (given[3] == "ordered") out <- c(out, setNames(m$family$getTheta(TRUE), paste0("cut_", seq_along(m$family$getTheta(TRUE)))))
cat(paste0("# R ", getRversion(), ", mgcv ", packageVersion("mgcv"), "\n"))
cat(paste0(names(out), ",", format(out, digits = 12), "\n"), sep = "")
